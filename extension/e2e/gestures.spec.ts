import type { Page } from '@playwright/test'
import { type Browser, expect, test } from './browser'
import type { Screen } from './screen'

// Menus and keys in a window with the browser's own side panel. CDP and Playwright cannot control the browser's menus,
// its keyboard commands and the side panel, so these tests use an X server without a monitor. The position of the
// button in the toolbar is unknown. `Browser.press` triggers its action; here Alt+Shift+Y does.

/** The position of the extension's entry from the end of the menu. Only entries for developers follow it. */
const fromTheEnd = { selection: 2, page: 3 } as const

/** Chooses the extension's entry in the context menu of an element. */
async function choose(display: Screen, page: Page, kind: keyof typeof fromTheEnd, selector: string) {
  const place = await page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const { left, top, height } = element.getBoundingClientRect()
      const bars = window.outerHeight - window.innerHeight
      return { x: window.screenX + left + 30, y: window.screenY + bars + top + height / 2 }
    })
  await display.openMenu(place)
  await display.press(...Array(fromTheEnd[kind]).fill('Up'), 'Return')
}

const panelText = (browser: Browser) => browser.inSidePanel('document.body.innerText')

/** Selects paragraphs of the page, and returns the selected text. */
function select(page: Page, first: number, last: number): Promise<string> {
  return page.evaluate(
    ([from, to]) => {
      const paragraphs = document.querySelectorAll('article p')
      const range = document.createRange()
      range.setStartBefore(paragraphs[from] as Element)
      range.setEndAfter(paragraphs[to] as Element)
      getSelection()?.removeAllRanges()
      getSelection()?.addRange(range)
      return String(getSelection())
    },
    [first, last] as const,
  )
}

test('the context menu explains the whole selection, even if the menu shortens it', async ({
  windowed: browser,
  display,
  site,
  account,
  model,
}) => {
  model.script('やさしく説明してください', { text: '長い約款の説明です。' })
  const page = await browser.open(`${site.url}/long`)
  const selected = (await select(page, 0, 99)).trim()
  expect(selected.length).toBeGreaterThan(10_000)
  await choose(display, page, 'selection', 'article p')
  await expect.poll(() => panelText(browser)).toContain('送信内容を確認')
  expect(await browser.inSidePanel('document.querySelector("pre").textContent')).toBe(selected)
  await display.press('Return') // The panel has the focus, on 送信.
  await expect.poll(() => panelText(browser)).toContain('長い約款の説明です。')
  expect(model.asked(selected.split('\n').at(-1) ?? '')).toBe(1)
  const [thread] = await account.threads()
  expect((await account.messages(thread?.id ?? ''))[1]?.content).toBe('長い約款の説明です。')
})

test('a selection over 20,000 characters is refused with its length', async ({
  windowed: browser,
  display,
  site,
}) => {
  const page = await browser.open(`${site.url}/long`)
  const selected = (await select(page, 0, 499)).trim()
  await choose(display, page, 'selection', 'article p')
  await expect
    .poll(() => panelText(browser))
    .toContain(`選択した文章が長すぎます（${[...selected].length}文字）。20000文字以内`)
})

test('the context menu of a page summarizes it', async ({ windowed: browser, display, site, model }) => {
  model.script('就業規則改定のお知らせ', { text: '在宅勤務の対象が広がります。' })
  const page = await browser.open(`${site.url}/notice`)
  await choose(display, page, 'page', 'h1')
  await expect.poll(() => panelText(browser)).toContain('送信内容を確認')
  await display.press('Return')
  await expect.poll(() => panelText(browser)).toContain('在宅勤務の対象が広がります。')
})

test('Alt+Shift+Y opens the panel, and Alt+Shift+S begins the summary', async ({
  windowed: browser,
  display,
  site,
}) => {
  const page = await browser.open(`${site.url}/notice`)
  // Chromium ignores a key of the manifest that it uses itself.
  const commands = await (await browser.worker()).evaluate(() => chrome.commands.getAll())
  expect(commands.map(({ shortcut }) => shortcut)).toEqual(['Alt+Shift+Y', 'Alt+Shift+S'])
  await display.press('alt+shift+y')
  await expect.poll(() => panelText(browser)).toContain('このページを要約')
  await page.bringToFront()
  await display.press('alt+shift+s')
  await expect.poll(() => panelText(browser)).toContain('送信内容を確認')
  expect(await browser.inSidePanel('document.querySelector("pre").textContent')).toContain(
    '在宅勤務を希望する社員は',
  )
})
