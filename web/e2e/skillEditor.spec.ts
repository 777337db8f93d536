import { expect } from '@playwright/test'
import { test } from './support/admin'
import { hold } from './support/hold'
import { inspect } from './support/inspect'

test.use({ who: 'admin' })

test('a skill is written, tried, saved, published and used', async ({ page, model, pageAs, signIn }) => {
  const user = await signIn('user')
  const member = await pageAs(user)
  await member.goto('/home/skill')
  await member.getByRole('link', { name: 'スキルを作成' }).click()
  const editor = member.getByRole('textbox', { name: 'プロンプト' })
  await member.getByRole('textbox', { name: '名前', exact: true }).fill('訪問報告の下書き')
  await member.getByRole('textbox', { name: '説明' }).fill('訪問のメモから報告書を作ります。')
  await member.getByRole('button', { name: '入力項目を追加' }).click()
  await member.getByRole('textbox', { name: '項目名' }).fill('会社名')
  await editor.fill('{{担当者}}')
  await member.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(member.getByText(/「{{担当者}}」にあたる入力項目がありません/).first()).toBeVisible()
  await expect(editor).toBeFocused()

  // A reload loses nothing.
  await editor.fill('への訪問を報告する。')
  await editor.press('Home')
  await member.getByRole('button', { name: '{{会社名}} を挿入' }).click()
  await member.reload()
  await expect(editor).toHaveValue('{{会社名}}への訪問を報告する。')
  await expect(member.getByText('保存していない変更があります')).toBeVisible()

  // The trial does not save it.
  await member.getByRole('button', { name: 'この内容で試す' }).click()
  const trial = member.getByRole('region', { name: '試す' })
  await trial.getByRole('textbox', { name: '会社名' }).fill('紡績株式会社')
  await trial.getByRole('button', { name: '実行' }).click()
  await expect(trial.getByText('紡績株式会社').first()).toBeVisible()
  await expect
    .poll(() => model.instructions('紡績株式会社'))
    .toContain('<value>紡績株式会社</value>への訪問を報告する。')
  expect(await (await user.call('GET', '/v1/skill/library')).json()).toMatchObject({ total: 0 })
  await inspect(member, {
    name: '/home/skill/new',
    open: async (at) => {
      await at.goto('/home/skill/new')
      await expect(at.getByRole('heading', { name: 'スキルの作成' })).toBeVisible()
    },
  })

  // Text that is entered during the saving remains, as a change of the saved version.
  const creating = await hold(member, /\/v1\/skill$/)
  await member.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(member.getByRole('button', { name: '保存する', exact: true })).toHaveAttribute(
    'aria-busy',
    'true',
  )
  await editor.fill('{{会社名}}への訪問について、書きかけ')
  creating.release()
  await expect(member).toHaveURL(/\/home\/skill\/[0-9a-f-]{36}\/edit$/)
  await expect(member.getByRole('heading', { name: 'スキルの編集' })).toBeVisible()
  await expect(editor).toHaveValue('{{会社名}}への訪問について、書きかけ')
  await expect(member.getByText('保存していない変更があります')).toBeVisible()
  await editor.fill('{{会社名}}への訪問を、結論から報告する。')
  await member.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(member.getByText('保存していない変更があります')).toBeHidden()
  await member.getByRole('button', { name: '版の履歴' }).click()
  const versions = member.getByRole('dialog', { name: '版の履歴' })
  await versions
    .getByRole('listitem')
    .filter({ hasText: '第1版' })
    .getByRole('button', { name: '比べる' })
    .click()
  await expect(versions.locator('del')).toHaveText('−{{会社名}}への訪問を報告する。\n')
  await versions
    .getByRole('listitem')
    .filter({ hasText: '第1版' })
    .getByRole('button', { name: '戻す' })
    .click()
  await expect(editor).toHaveValue('{{会社名}}への訪問を報告する。')
  await member.getByRole('button', { name: '変更を破棄' }).click()
  await expect(editor).toHaveValue('{{会社名}}への訪問を、結論から報告する。')

  await member.goto('/home/skill/library')
  await member.getByRole('button', { name: '公開を申請' }).click()
  await member.getByRole('dialog').getByRole('button', { name: '公開を申請' }).click()
  await expect(member.getByText('申請中')).toBeVisible()

  await page.goto('/home/skill/library?tab=requests')
  await page.getByRole('button', { name: '確認する' }).click()
  await expect(page.getByRole('dialog')).toContainText('結論から報告する')
  await page.getByRole('button', { name: '承認して公開' }).click()
  await expect(page.getByText('申請を処理しました。')).toBeVisible()
  await page.goto('/home/skill')
  await page.getByRole('link', { name: '訪問報告の下書き' }).click()
  await expect(page.getByRole('textbox', { name: '会社名' })).toBeVisible()
  await inspect(page, {
    name: '/home/skill/library',
    open: async (at) => {
      await at.goto('/home/skill/library?tab=organization')
      await expect(at.getByRole('heading', { name: '訪問報告の下書き' })).toBeVisible()
    },
  })
})
