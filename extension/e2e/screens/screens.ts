import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { shrink } from '../../../web/e2e/screens/shrink'
import { root } from '../../../web/e2e/support/paths'
import { type Browser, expect, test } from '../browser'

const panel = { width: 400, height: 680 }
const guide = join('web', 'public', 'guide')

/** The addresses in the screenshots, in place of those of the tests. */
const names = { server: 'https://tsumugi.example.jp', site: 'https://www.example.jp' }

/** Replaces the addresses of the server and the site in a page. */
async function rename(page: Page, server: string, site: string): Promise<void> {
  const pairs = [
    [server, names.server],
    [new URL(server).host, new URL(names.server).host],
    [site, names.site],
    [new URL(site).host, new URL(names.site).host],
  ] as const
  await page.evaluate((pairs) => {
    const renamed = (text: string) => pairs.reduce((shown, [from, to]) => shown.replaceAll(from, to), text)
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const node = texts.currentNode as Text
      node.data = renamed(node.data)
    }
    for (const field of document.querySelectorAll('input')) field.value = renamed(field.value)
  }, pairs)
}

/** Writes a screenshot of a page. */
async function write(page: Page, ...path: string[]): Promise<void> {
  await page.evaluate(() => document.fonts.ready)
  await writeFile(
    join(root, ...path),
    shrink(await page.screenshot({ animations: 'disabled', caret: 'hide' })),
  )
}

/** Takes the screenshots of a page of the extension: .cache/screens/extension-NAME-{light,dark}.png. */
async function shoot(
  page: Page,
  name: string,
  height: number = panel.height,
  width = panel.width,
): Promise<void> {
  await page.setViewportSize({ width, height })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await write(page, '.cache', 'screens', `extension-${name}-${colorScheme}.png`)
  }
}

const summary = `在宅勤務の対象を、2027年4月1日から**全社員**に広げるというお知らせです。

- 希望する社員は、前月の20日までに申請書を上長に提出します
- 月に10日以上の在宅勤務をすると、通信費として**月額3,000円**が支給されます

| 区分 | 上限日数 |
| --- | ---: |
| 正社員 | 15日 |
| 契約社員 | 10日 |
`

/** Shows the browser's page for extensions, with the buttons for developers. */
async function openExtensions(browser: Browser): Promise<Page> {
  const page = await browser.open('chrome://extensions')
  await page.setViewportSize({ width: 1000, height: 440 })
  await page.locator('#devMode').click()
  await expect(page.locator('#loadUnpacked')).toBeVisible()
  await expect(page.getByText('Tsumugi（紡）', { exact: true })).toBeVisible()
  return page
}

test('installing and signing in', async ({ installed: browser, server, site }) => {
  const name = (page: Page) => rename(page, server.url, site.url)
  await write(await openExtensions(browser), guide, 'extension-load.png')
  const page = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(page.getByRole('heading', { name: 'ログインしてください' })).toBeVisible()
  await name(page)
  await page.setViewportSize({ ...panel, height: 300 })
  await write(page, guide, 'extension-sign-in.png')
  const opened = browser.context.waitForEvent('page')
  await page.getByRole('button', { name: 'コードでログイン' }).click()
  await (await opened).close()
  await expect(page.getByText(/^[A-Z]{4}-[A-Z]{4}$/)).toBeVisible()
  await name(page)
  await shoot(page, 'code', 460)
})

test('a page, its summary and the settings', async ({ browserWith: browser, server, site, model }) => {
  const name = (page: Page) => rename(page, server.url, site.url)
  model.script('就業規則改定のお知らせ', { text: summary, title: '就業規則改定の要約' })
  const page = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(page.getByRole('button', { name: 'このページを要約' })).toBeVisible()
  await shoot(page, 'start')
  await page.getByRole('button', { name: 'このページを要約' }).click()
  await page.getByText('送信する文章を表示').click()
  await name(page)
  await shoot(page, 'review')
  await page.getByRole('button', { name: '送信', exact: true }).click()
  await expect(page.getByRole('button', { name: '回答をコピー' })).toBeVisible()
  await shoot(page, 'answer')
  const settings = await browser.extensionPage('options.html')
  await expect(settings.getByText('ログインしています：user@demo.example')).toBeVisible()
  await name(settings)
  await shoot(settings, 'settings', 980, 760)
})
