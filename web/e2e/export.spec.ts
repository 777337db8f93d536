import { readFile } from 'node:fs/promises'
import type { Locator, Page } from '@playwright/test'
import mammoth from 'mammoth'
import { expect, test } from './support/test'

const answer = `## 売上の報告

- **営業部**の売上

| 部署 | 売上 |
| --- | ---: |
| 営業部 | 1,200 |

前年比は $\\frac{6}{5}$ です。
`

/** Chooses an item of a menu and reads the saved Word document as HTML. */
async function savedDocument(page: Page, button: Locator): Promise<{ name: string; html: string }> {
  await button.click()
  const saved = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Wordで保存' }).click()
  const download = await saved
  const { value } = await mammoth.convertToHtml({ buffer: await readFile(await download.path()) })
  return { name: download.suggestedFilename(), html: value }
}

test('an answer and its chat are saved for Word, and an answer is printed alone', async ({
  page,
  chat,
  model,
  question,
}) => {
  model.script(question, { text: answer, tokens_per_second: -1, title: '売上/報告' })
  await page.addInitScript(() => {
    window.print = () => document.dispatchEvent(new Event('printed'))
  })
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  await expect(page.getByRole('heading', { level: 1, name: '売上/報告' })).toBeVisible()
  const more = chat.answer.getByRole('button', { name: 'その他の操作' })
  const alone = await savedDocument(page, more)
  expect(alone.name).toBe('売上 報告.docx')
  expect(alone.html).toMatch(
    /^<h1>売上の報告<\/h1><ul><li><strong>営業部<\/strong>の売上<\/li><\/ul><table>.*1,200.*<\/table>/,
  )
  expect(alone.html).not.toContain(question)

  const whole = await savedDocument(page, page.getByRole('button', { name: 'チャットのメニュー' }))
  expect(whole.name).toBe('売上 報告.docx')
  expect(whole.html).toContain(question)
  expect(whole.html).toContain('<h1>回答</h1><h2>売上の報告</h2>')

  const printed = page.evaluate(
    () => new Promise((resolve) => document.addEventListener('printed', resolve, { once: true })),
  )
  await more.click()
  await page.getByRole('menuitem', { name: '印刷・PDFで保存' }).click()
  await printed
  await page.emulateMedia({ media: 'print' })
  await expect(chat.answer).toBeVisible()
  await expect(chat.questions.first()).toBeHidden()
  await expect(page.getByRole('navigation').first()).toBeHidden()
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')))
  await expect(chat.questions.first()).toBeVisible()
})
