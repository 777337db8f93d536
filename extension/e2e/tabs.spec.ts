import type { Page } from '@playwright/test'
import { type Browser, expect, test } from './browser'

// The browser's own side panel, which follows the active tab of its window.

/** Presses a button of the side panel as soon as it has one with this text. */
async function press(browser: Browser, name: string): Promise<void> {
  const find = `[...document.querySelectorAll('button')].find((it) => it.textContent.trim() === '${name}')`
  await expect.poll(() => browser.inSidePanel(`${find} !== undefined`)).toBe(true)
  await browser.inSidePanel(`${find}.click()`)
}

/** Types a question into the side panel as soon as its field is enabled. */
async function type(browser: Browser, question: string): Promise<void> {
  const ready = `document.querySelector('textarea')?.disabled === false`
  await expect.poll(() => browser.inSidePanel(ready)).toBe(true)
  await browser.inSidePanel(
    `document.querySelector('textarea').focus(); document.execCommand('insertText', false, '${question}')`,
  )
  await expect.poll(() => typed(browser)).toBe(question)
}

const typed = (browser: Browser) => browser.inSidePanel(`document.querySelector('textarea')?.value`)
const text = (browser: Browser) => browser.inSidePanel('document.body.innerText')

/** Returns the tabs with stored conversations, by the title of the page. */
async function stored(browser: Browser): Promise<string[]> {
  const all = await (await browser.worker()).evaluate(() => chrome.storage.session.get(null))
  const found = Object.entries(all as Record<string, { title?: string }>)
  return found.flatMap(([key, { title }]) => (key.startsWith('talk:') ? [title ?? ''] : [])).sort()
}

/** Opens a page with the side panel next to it. */
async function openWith(browser: Browser, url: string): Promise<Page> {
  const page = await browser.open(url)
  await browser.openSidePanel(page)
  return page
}

test('a review and a typed question stay with their tab, and conversations of other tabs are kept', async ({
  browserWith: browser,
  site,
  model,
}) => {
  model.script('別のお知らせ', { text: '二つ目のページの要約です。' })
  model.script('就業規則改定のお知らせ', { text: '一つ目のページの要約です。' })
  const second = await openWith(browser, `${site.url}/other`)
  await press(browser, 'このページを要約')
  await press(browser, '送信')
  await expect.poll(() => text(browser)).toContain('二つ目のページの要約です。')
  await type(browser, '申請の期限はいつですか')

  const first = await openWith(browser, `${site.url}/notice`)
  await press(browser, 'このページを要約')
  await expect.poll(() => text(browser)).toContain('送信内容を確認')

  await second.bringToFront()
  await expect.poll(() => text(browser)).toContain('二つ目のページの要約です。')
  expect(await text(browser)).not.toContain('送信内容を確認')
  await expect.poll(() => typed(browser)).toBe('申請の期限はいつですか')

  await first.bringToFront()
  await expect.poll(() => text(browser)).toContain('送信内容を確認')
  await press(browser, '送信')
  await expect.poll(() => text(browser)).toContain('一つ目のページの要約です。')
  await expect.poll(() => stored(browser)).toEqual(['別のお知らせ', '就業規則改定のお知らせ'].sort())

  await second.bringToFront()
  await expect.poll(() => text(browser)).toContain('二つ目のページの要約です。')
  await expect.poll(() => typed(browser)).toBe('申請の期限はいつですか')
})

test('a question stays in the field until it is sent', async ({ browserWith: browser, site }) => {
  const page = await browser.open(`${site.url}/empty`)
  const panel = await browser.press(page)
  const field = panel.getByLabel('質問')
  await field.fill('期限はいつですか')
  await field.press('Enter')
  await expect(panel.getByRole('alert')).toBeVisible()
  await expect(field).toHaveValue('期限はいつですか')

  await page.goto(`${site.url}/notice`)
  await expect(field).toHaveValue('期限はいつですか')
  await field.press('Enter')
  await panel.getByRole('button', { name: 'キャンセル' }).click()
  await expect(field).toHaveValue('期限はいつですか')
  await field.press('Enter')
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await expect(panel.locator('[data-answer]')).toBeVisible()
  await expect(field).toHaveValue('')
})
