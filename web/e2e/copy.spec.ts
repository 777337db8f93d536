import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { expect, test } from './support/test'

const answer = `## 売上の報告

- **営業部**の売上
- 総務部の費用

| 品番 | 部署 | 売上 |
| --- | --- | ---: |
| 0012 | 営業部 | 1,200 |

\`\`\`python
print("合計")
\`\`\`
`

const mail = `**件名:** 納期のご相談

佐藤様

いつもお世話になっております。
**10日**までにお願いいたします。

---
送る前の確認
- 【日時】`

/** The clipboard's content of this type. */
function clipboard(page: Page, type: 'text/plain' | 'text/html'): Promise<string> {
  return page.evaluate(async (kind) => {
    const [item] = await navigator.clipboard.read()
    if (!item?.types.includes(kind)) return ''
    return (await item.getType(kind)).text()
  }, type)
}

test.describe('copying', () => {
  test('an answer is copied for Word, its table for Excel, its code saved as a file', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: answer, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const copy = chat.answer
      .getByRole('group', { name: '回答の操作' })
      .getByRole('button', { name: 'コピー', exact: true })
    await copy.click()
    await expect(copy.locator('.lucide-check')).toBeVisible()
    expect(await clipboard(page, 'text/plain')).toBe(answer)
    const html = await clipboard(page, 'text/html')
    for (const part of ['<h2>売上の報告</h2>', '<strong>営業部</strong>', '<table', '<pre'])
      expect(html).toContain(part)

    await page.getByRole('button', { name: '表をコピー' }).press('Enter')
    await expect(page.getByRole('button', { name: 'コピーしました' })).toBeVisible()
    expect(await clipboard(page, 'text/plain')).toBe('品番\t部署\t売上\n0012\t営業部\t1,200')
    expect(await clipboard(page, 'text/html')).toMatch(/<table[\s\S]*>0012<[\s\S]*<\/table>/)

    const saved = async (name: string) => {
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name }).click()
      const file = await download
      return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')]
    }
    expect(await saved('表をCSVで保存')).toEqual([
      '表.csv',
      '\ufeff品番,部署,売上\r\n0012,営業部,"1,200"\r\n',
    ])
    expect(await saved('コード.pyとして保存')).toEqual(['コード.py', 'print("合計")\n'])

    const wrap = page.getByRole('button', { name: '折り返す' })
    await wrap.click()
    await expect(wrap).toHaveAttribute('aria-pressed', 'true')
    await expect(page.getByRole('group', { name: 'Pythonのコード' })).toHaveCSS('white-space', 'pre-wrap')
  })

  test('the subject and the text of a mail are copied separately', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: mail, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await page.getByRole('button', { name: '件名をコピー' }).click()
    await expect(page.getByRole('button', { name: '件名をコピー' }).locator('.lucide-check')).toBeVisible()
    expect(await clipboard(page, 'text/plain')).toBe('納期のご相談')
    await page.getByRole('button', { name: '本文をコピー' }).click()
    await expect(page.getByRole('button', { name: '本文をコピー' }).locator('.lucide-check')).toBeVisible()
    expect(await clipboard(page, 'text/plain')).toBe(
      '佐藤様\n\nいつもお世話になっております。\n10日までにお願いいたします。',
    )
    const card = chat.answer.getByRole('region', { name: 'メールの文面' })
    await expect(card.getByText('送る前の確認')).toHaveCount(0)
    await expect(chat.answer.getByText('送る前の確認')).toBeVisible()
    const address = await card.getByRole('link', { name: 'メールソフトで開く' }).getAttribute('href')
    expect(decodeURIComponent(address ?? '')).toMatch(
      /^mailto:\?subject=納期のご相談&body=佐藤様\r\n\r\nいつも/,
    )
  })
})
