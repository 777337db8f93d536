import type { BrowserContext, Page } from '@playwright/test'
import { type Account, emails } from '../../web/e2e/support/account'
import { enter } from '../../web/e2e/support/people'
import { password } from '../../web/e2e/support/tsumugi'
import type { Grant } from '../src/lib/session'
import { type Browser, expect, test } from './browser'

// The extension signs in through the server's own pages, in its own browser.

const client = 'Tsumugi ブラウザー拡張機能'

/** Signs a user in to the app. */
async function signInToApp(browser: Browser, origin: string, account: Account): Promise<Page> {
  const page = await browser.open(`${origin}/config.json`)
  await page.evaluate((record) => {
    for (const [key, value] of Object.entries(record)) localStorage.setItem(key, value)
  }, account.storage)
  return page
}

/** Presses the extension's sign-in button, and returns the window that the browser opens. */
async function openWindow(browser: Browser, page: Page): Promise<Page> {
  const opened = browser.context.waitForEvent('page')
  await page.getByRole('button', { name: 'ログイン', exact: true }).click()
  return opened
}

/** Allows the extension in the window, which the browser then closes. */
async function allow(window: Page): Promise<void> {
  await expect(window.getByText(client)).toBeVisible()
  await Promise.all([window.waitForEvent('close'), window.getByRole('button', { name: '許可する' }).click()])
}

/** Signs in from the extension's settings. */
async function signIn(browser: Browser, origin: string, account: Account): Promise<void> {
  await (await signInToApp(browser, origin, account)).close()
  const settings = await browser.extensionPage('options.html')
  await allow(await openWindow(browser, settings))
  await expect(settings.getByText(`ログインしています：${emails.user}`)).toBeVisible()
  await settings.close()
}

/** The stored tokens of the extension. */
async function grantOf(page: Page): Promise<Grant> {
  return page.evaluate(async () => (await chrome.storage.local.get<{ grant: Grant }>('grant')).grant)
}

function keep(page: Page, change: Partial<Grant>): Promise<void> {
  return page.evaluate(async (changed) => {
    const { grant } = await chrome.storage.local.get<{ grant: Grant }>('grant')
    await chrome.storage.local.set({ grant: { ...grant, ...changed } })
  }, change)
}

async function statusWith(origin: string, token: string): Promise<number> {
  return (await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status
}

async function connections(account: Account): Promise<{ id: string; name: string }[]> {
  const response = await account.call('GET', '/v1/connection')
  return ((await response.json()) as { items: { id: string; name: string }[] }).items
}

const ready = (panel: Page) => panel.getByRole('button', { name: 'このページを要約' })

test.beforeEach(async ({ account }) => {
  for (const { id } of await connections(account)) await account.call('DELETE', `/v1/connection/${id}`)
})

test('the window of the browser signs in: closed, refused, and allowed after a sign-in with the password', async ({
  installed: browser,
  site,
  account,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: '在宅勤務の対象が広がります。' })
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(panel.getByRole('heading', { name: 'ログインしてください' })).toBeVisible()
  const closed = await openWindow(browser, panel)
  await closed.waitForURL('**/login')
  await closed.close()
  await expect(panel.getByRole('alert')).toContainText('ログインが完了しませんでした。')

  const refused = await openWindow(browser, panel)
  await refused.waitForURL('**/login')
  await enter(refused, emails.user, password)
  await refused.getByRole('button', { name: 'キャンセル' }).click()
  await expect(panel.getByRole('alert')).toContainText('利用が許可されませんでした。')
  expect(await connections(account)).toEqual([])

  await allow(await openWindow(browser, panel))
  await ready(panel).click()
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await expect(panel.locator('[data-answer]')).toContainText('在宅勤務の対象が広がります。')
  expect((await connections(account)).map(({ name }) => name)).toEqual([client])
  expect(await grantOf(panel)).toMatchObject({
    accessToken: expect.stringMatching(/^tsa_/),
    refreshToken: expect.stringMatching(/^tsr_/),
  })
})

test('a code entered in the app signs in', async ({ installed: browser, server, account }) => {
  await (await signInToApp(browser, server.url, account)).close()
  const settings = await browser.extensionPage('options.html')
  const opened = browser.context.waitForEvent('page')
  await settings.getByRole('button', { name: 'コードでログイン' }).click()
  const app = await opened
  const shown = settings.getByText(/^[A-Z]{4}-[A-Z]{4}$/)
  await expect(shown).toBeVisible()
  const code = (await shown.textContent()) ?? ''
  await expect(app.getByLabel('コード')).toHaveValue(code)
  await app.goto(`${server.url}/oauth/device`)
  await app.getByLabel('コード').fill(code.toLowerCase().replace('-', ''))
  await app.getByRole('button', { name: '次へ' }).click()
  await expect(app.getByText(client)).toBeVisible()
  await app.getByRole('button', { name: '許可する' }).click()
  await expect(settings.getByText(`ログインしています：${emails.user}`)).toBeVisible()
  expect((await connections(account)).map(({ name }) => name)).toEqual([client])
})

test('the panel waits for a code while the tab for its confirmation shows another screen', async ({
  installed: browser,
  server,
  account,
}) => {
  await (await signInToApp(browser, server.url, account)).close()
  // The panel follows the active tab, at first its own, which has a conversation.
  const panel = await browser.extensionPage('panel.html')
  await panel.evaluate(async () => {
    const tabId = (await chrome.tabs.getCurrent())?.id ?? 0
    const talk = { tabId, url: location.href, title: '前の会話', kind: 'page', threadId: null, turns: [] }
    await chrome.storage.session.set({
      [`talk:${tabId}:${location.href}`]: { ...talk, touchedAt: Date.now() },
    })
  })
  await panel.reload()
  await expect(panel.getByText('前の会話')).toBeVisible()
  const opened = browser.context.waitForEvent('page')
  await panel.getByRole('button', { name: 'コードでログイン' }).click()
  const app = await opened
  await expect(panel.getByText('前の会話')).toBeHidden()
  await expect(panel.getByText(await app.getByLabel('コード').inputValue())).toBeVisible()
  await app.getByRole('button', { name: '次へ' }).click()
  await app.getByRole('button', { name: '許可する' }).click()
  await expect(panel.getByRole('button', { name: 'コードでログイン' })).toBeHidden()
  await expect.poll(async () => (await grantOf(panel))?.accessToken).toMatch(/^tsa_/)
  expect(await statusWith(server.url, (await grantOf(panel)).accessToken)).toBe(200)
})

/** Delays the requests for new tokens. */
async function holdRefreshes(context: BrowserContext): Promise<{ count: () => number; release: () => void }> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let count = 0
  await context.route('**/v1/oauth2/token', async (route) => {
    if (route.request().postData()?.includes('grant_type=refresh_token')) count++
    await released
    await route.continue()
  })
  return { count: () => count, release }
}

for (const [name, change] of [
  ['has expired', { expiresAt: 0 }],
  ['is refused by the server', { accessToken: `tsa_${'A'.repeat(43)}` }],
] as const)
  test(`R93: an access token that ${name} is renewed once, for two panels`, async ({
    installed: browser,
    site,
    server,
    account,
  }) => {
    await signIn(browser, server.url, account)
    const page = await browser.open(`${site.url}/notice`)
    const panels = [await browser.press(page), await browser.press(page)] as const
    for (const panel of panels) await expect(ready(panel)).toBeVisible()
    const before = await grantOf(panels[0])
    const refreshes = await holdRefreshes(browser.context)
    for (const panel of panels) // On a busy machine, a request is held for longer than its time limit.
      await panel.evaluate(() => Object.assign(AbortSignal, { timeout: () => new AbortController().signal }))
    await keep(panels[0], change)
    // One panel requests tokens, and the other one waits for the lock.
    const locks = () => panels[1].evaluate(() => navigator.locks.query())
    await expect.poll(async () => (await locks()).held?.length).toBe(1)
    await expect.poll(async () => (await locks()).pending?.length).toBe(1)
    refreshes.release()
    await expect.poll(async () => (await grantOf(panels[1])).refreshToken).not.toBe(before.refreshToken)
    await expect.poll(async () => (await locks()).held?.length).toBe(0)
    expect(refreshes.count()).toBe(1)
    for (const panel of panels) await expect(ready(panel)).toBeVisible()
    const after = await grantOf(panels[1])
    expect(after.expiresAt).toBeGreaterThan(Date.now() + 50 * 60_000)
    expect(await statusWith(server.url, after.accessToken)).toBe(200)
  })

test('R93: the response to a refresh is lost, and the extension stays signed in', async ({
  installed: browser,
  site,
  server,
  account,
}) => {
  await signIn(browser, server.url, account)
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(ready(panel)).toBeVisible()
  const before = await grantOf(panel)
  let lost = 0
  let refreshes: number | undefined
  await browser.context.route('**/v1/oauth2/token', async (route) => {
    if (refreshes !== undefined) {
      refreshes++
      return route.continue()
    }
    if (lost++ === 0) await route.fetch() // The server exchanges the token, but its response is lost.
    await route.abort('connectionreset')
  })
  await keep(panel, { expiresAt: 0 })
  await expect(panel.getByRole('heading', { name: 'サーバーに接続できません' })).toBeVisible()
  expect((await grantOf(panel)).refreshToken).toBe(before.refreshToken)
  refreshes = 0
  await panel.getByRole('button', { name: 'やり直す' }).click()
  await expect(ready(panel)).toBeVisible()
  const after = await grantOf(panel)
  expect(refreshes).toBe(1)
  expect(after.refreshToken).not.toBe(before.refreshToken)
  expect(await statusWith(server.url, after.accessToken)).toBe(200)
})

test('R86, R94: ending the connection during an answer signs the panel out, and the next sign-in resumes', async ({
  installed: browser,
  site,
  server,
  account,
  model,
}) => {
  const slow = { chars: 600, seed: 5, tokens_per_second: 120, title: '改定のお知らせ' }
  model.script('就業規則改定のお知らせ', slow)
  const pause = model.pause('就業規則改定のお知らせ', 40)
  await signIn(browser, server.url, account)
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await ready(panel).click()
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await pause.reached
  const text = panel.locator('[data-answer] > div').first()
  await expect.poll(async () => (await text.textContent())?.length ?? 0).toBeGreaterThan(20)
  const { accessToken } = await grantOf(panel)

  const app = await browser.open(`${server.url}/setting/connections`)
  await app.getByRole('button', { name: /拡張機能」の\s*接続を解除/ }).click()
  await app.getByRole('dialog').getByRole('button', { name: '接続を解除' }).click()
  await expect(app.getByText('接続しているアプリはありません。')).toBeVisible()
  // The server ends the stream within 5 seconds. The panel then requests it again and is refused.
  await expect(panel.getByText('ログアウトされました')).toBeVisible({ timeout: 10_000 })
  expect(await grantOf(panel)).toBeUndefined()
  expect(await statusWith(server.url, accessToken)).toBe(401)
  expect((await text.textContent())?.length, 'what was read stays').toBeGreaterThan(20)

  await allow(await openWindow(browser, panel))
  await expect(panel.getByText('ログアウトされました')).toBeHidden()
  pause.release()
  await panel.bringToFront()
  await panel.getByRole('button', { name: '回答をコピー' }).click()
  await expect(panel.getByText('コピーしました')).toBeVisible()
  expect(await panel.evaluate(() => navigator.clipboard.readText())).toBe(await model.text(slow))
})

test('signing out revokes the tokens and deletes the panel’s conversation', async ({
  installed: browser,
  site,
  server,
  account,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: '在宅勤務の対象が広がります。' })
  await signIn(browser, server.url, account)
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await ready(panel).click()
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await expect(panel.getByRole('button', { name: '回答をコピー' })).toBeVisible()
  const { accessToken, refreshToken } = await grantOf(panel)
  expect(await statusWith(server.url, accessToken)).toBe(200)

  const settings = await browser.extensionPage('options.html')
  await settings.getByRole('button', { name: 'ログアウト' }).click()
  await expect(settings.getByRole('button', { name: 'ログイン', exact: true })).toBeVisible()
  await expect(panel.getByRole('heading', { name: 'ログインしてください' })).toBeVisible()
  await expect(panel.locator('[data-answer]')).toHaveCount(0)
  await expect.poll(() => connections(account)).toEqual([])
  expect(await statusWith(server.url, accessToken)).toBe(401)
  const refused = await fetch(`${server.url}/v1/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'tsumugi-extension',
      refresh_token: refreshToken,
    }),
  })
  expect(await refused.json()).toMatchObject({ error: 'invalid_grant' })
  const kept = await settings.evaluate(() => chrome.storage.session.get(null))
  expect(Object.keys(kept).filter((key) => key.startsWith('talk:'))).toEqual([])
})
