import type { Skill } from '../src/lib/api'
import { expect, test } from './support/test'

for (const viewport of [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]) {
  test.describe(`${viewport.width} × ${viewport.height}`, () => {
    test.use({ viewport })

    test('every form has its defaults and a visible button', async ({ page, account }) => {
      const list = await (await account.call('GET', '/v1/skill?limit=100')).json()
      const forms = (list.items as Skill[]).filter(({ form_type }) => form_type === 'form')
      expect(forms.length).toBeGreaterThan(5)
      for (const { id, name } of forms) {
        await page.goto(`/home/skill/${id}`)
        await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
        await expect(page.getByRole('button', { name: '実行' }), name).toBeInViewport({ ratio: 1 })
        for (const select of await page.locator('form select[required]').all())
          await expect(select, name).not.toHaveValue('')
        const marks = await page.locator('form label').allInnerTexts()
        const optional = marks.map((mark) => mark.endsWith('任意'))
        expect(optional, name).toEqual([...optional].sort())
      }
    })

    test('a pasted text is sufficient for proofreading', async ({ page, chat }) => {
      await chat.open('文章校正')
      await page.evaluate(() => navigator.clipboard.writeText('導入にに伴い、変更します。'))
      await expect(page.getByRole('textbox', { name: '文章' })).toBeFocused()
      await page.keyboard.press('Control+V')
      await page.keyboard.press('Control+Enter')
      await expect(chat.questions.last()).toContainText('誤字脱字と文法だけ')
      await expect(chat.questions.last()).toContainText('元の文体のまま')
    })

    test('a prompt is sufficient to try a skill', async ({ page, model, question }) => {
      model.script(question, { text: '試した回答です。' })
      await page.goto('/home/skill/new')
      await page.getByRole('textbox', { name: 'プロンプト' }).fill('一文で答える。')
      await page.getByRole('button', { name: 'この内容で試す' }).click()
      const trial = page.getByRole('region', { name: '試す' })
      await expect(trial.getByRole('textbox', { name: '質問' })).toBeInViewport({ ratio: 1 })
      await trial.getByRole('textbox', { name: '質問' }).fill(question)
      await trial.getByRole('button', { name: '送信' }).click()
      await expect(trial.getByText('試した回答です。', { exact: true })).toBeVisible()
    })

    test('the button of a tried form is visible', async ({ page }) => {
      await page.goto('/home/skill/new')
      for (const label of ['会社名', '部署名', '担当者', '用件']) {
        await page.getByRole('button', { name: '入力項目を追加' }).click()
        await page.getByRole('textbox', { name: '項目名' }).last().fill(label)
        await page.getByRole('combobox', { name: '種類' }).last().selectOption('textarea')
      }
      await page.getByRole('textbox', { name: 'プロンプト' }).fill('一文で答える。')
      await page.getByRole('button', { name: 'この内容で試す' }).click()
      const trial = page.getByRole('region', { name: '試す' })
      await expect(trial.getByRole('button', { name: '実行' })).toBeInViewport({ ratio: 1 })
    })
  })
}
