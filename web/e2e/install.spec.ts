import { chromium } from '@playwright/test'
import { findBrowser } from './support/browser'
import { expect, test } from './support/test'

interface Shown {
  readonly title: string
  readonly body: string
  click(): void
}

declare global {
  interface Window {
    shown: Shown[]
    asked: number
  }
}

test.describe('the app on a device', () => {
  test('can be installed, and stores nothing by itself', async ({ page, server }) => {
    await page.goto('/home/skill')
    // The headless shell cannot install apps.
    const full = await chromium.launch({ executablePath: findBrowser() })
    const visited = await full.newPage()
    await visited.goto(server.url)
    const devtools = await visited.context().newCDPSession(visited)
    const { errors } = await devtools.send('Page.getAppManifest')
    expect(errors).toEqual([])
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors')
    await full.close()
    // Test browsers use private profiles, which cannot install apps.
    const reasons = installabilityErrors.map(({ errorId }) => errorId)
    expect(reasons.filter((id) => id !== 'in-incognito')).toEqual([])
    const manifest = await fetch(`${server.url}/manifest.webmanifest`)
    expect(manifest.headers.get('content-type')).toBe('application/manifest+json')
    expect(manifest.headers.get('cache-control')).toBe('no-cache')
    const { icons } = (await manifest.json()) as { icons: { src: string; type: string }[] }
    for (const { src, type } of icons)
      expect((await fetch(server.url + src)).headers.get('content-type')).toBe(type)
    expect(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0)
  })

  test('is notified of an answer that ends while no tab is visible, if so configured', async ({
    page,
    account,
    chat,
    question,
  }) => {
    await account.reset()
    await page.addInitScript(() => {
      window.shown = []
      window.asked = 0
      class Fake {
        static permission = 'default'
        static requestPermission = async () => {
          window.asked++
          Fake.permission = 'granted'
          return 'granted'
        }
        onclick: (() => void) | null = null
        constructor(title: string, options: { body: string }) {
          window.shown.push({ title, body: options.body, click: () => this.onclick?.() })
        }
        close() {}
      }
      Object.defineProperty(window, 'Notification', { value: Fake })
    })
    const thread = await account.newThread('汎用チャット', '経費の相談')
    await chat.open()
    expect(await page.evaluate(() => window.asked)).toBe(0)
    await page.getByRole('button', { name: /さんのメニュー/ }).click()
    await page.getByRole('menuitemcheckbox', { name: '回答が完了したときの通知' }).click()
    await expect.poll(() => page.evaluate(() => window.asked)).toBe(1)
    await page.keyboard.press('Escape')
    await page.evaluate(() =>
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' }),
    )
    await account.ask(thread.id, question)
    await expect
      .poll(() => page.evaluate(() => window.shown.map(({ title, body }) => [title, body])))
      .toEqual([['経費の相談', '回答が完了しました。']])
    await page.evaluate(() => window.shown[0]?.click())
    await expect(page).toHaveURL(new RegExp(`/chat/${thread.id}$`))
  })
})
