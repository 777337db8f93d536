import { mkdir } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { Account, emails } from '../../web/e2e/support/account'
import { membersOf } from '../../web/e2e/support/admin'
import { Idp } from '../../web/e2e/support/idp'
import { breaches, overflow } from '../../web/e2e/support/inspect'
import { Line } from '../../web/e2e/support/line'
import { type Browser, expect, test } from './browser'

// The screens for each reason why the panel is unusable, and its automatic recovery.

const screen = (panel: Page, name: string) => panel.getByRole('heading', { level: 2, name })
const ready = (panel: Page) => panel.getByRole('button', { name: 'このページを要約' })

/**
 * Checks a screen in the widths of a side panel, and in light and dark: one scheme for each width, because the layout
 * does not depend on the scheme, and contrast not on the width. SCREENS is a folder for screenshots.
 */
async function inspect(panel: Page, name: string): Promise<void> {
  const folder = process.env.SCREENS
  if (folder !== undefined) await mkdir(folder, { recursive: true })
  for (const [width, colorScheme] of [
    [320, 'light'],
    [400, 'dark'],
  ] as const) {
    await panel.setViewportSize({ width, height: 560 })
    await panel.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await overflow(panel), `${name}, ${width} px`).toEqual({ by: 0, what: [] })
    expect(await breaches(panel), `${name}, ${colorScheme}`).toEqual([])
    if (folder !== undefined)
      await panel.screenshot({
        path: `${folder}/${name}-${width}-${colorScheme}.png`,
        animations: 'disabled',
      })
  }
}

/** Sets the extension's server as its settings page does. */
async function setServer(browser: Browser, server: string): Promise<void> {
  const page = await browser.extensionPage('options.html')
  await page.evaluate((values) => chrome.storage.local.set(values), { server })
  await page.close()
}

test('without a server', async ({ installed: browser, site }) => {
  await browser.withoutServer()
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(screen(panel, 'サーバーを設定してください')).toBeVisible()
  await inspect(panel, 'setup')
})

test('signed out', async ({ installed: browser, site }) => {
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(screen(panel, 'ログインしてください')).toBeVisible()
  await inspect(panel, 'signed-out')
})

for (const [name, granted] of [
  ['signed in', true],
  ['signed out', false],
] as const)
  test(`an address without a Tsumugi server, ${name}`, async ({ installed: browser, site, account }) => {
    await (granted ? browser.signIn(site.url, account) : setServer(browser, site.url))
    const panel = await browser.press(await browser.open(`${site.url}/notice`))
    await expect(screen(panel, 'Tsumugiのサーバーが見つかりません')).toBeVisible()
    await expect(
      panel.getByText(`${site.url} は、この拡張機能で使えるTsumugiのサーバーではありません。`),
    ).toBeVisible()
    const opened = browser.context.waitForEvent('page')
    await panel.getByRole('button', { name: '設定を開く' }).click()
    expect((await opened).url()).toMatch(/options\.html$/)
    await inspect(panel, 'wrong-server')
  })

test('an unreachable server is detected once it is reachable', async ({
  installed: browser,
  site,
  server,
  account,
}) => {
  const line = await Line.start(server.url)
  await browser.signIn(line.url, account)
  line.cut()
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(screen(panel, 'サーバーに接続できません')).toBeVisible()
  await inspect(panel, 'unreachable')
  line.mend()
  await expect(ready(panel)).toBeVisible()
  // A gateway that responds in its place is not a server either.
  await server.kill()
  await panel.reload()
  await expect(screen(panel, 'サーバーに接続できません')).toBeVisible()
  await server.resume()
  await expect(ready(panel)).toBeVisible()
  await line.stop()
})

test('offline and back, without a click, and with a readable conversation', async ({
  browserWith: browser,
  site,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: '在宅勤務の対象が広がります。' })
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(ready(panel)).toBeVisible()
  await browser.context.setOffline(true)
  await expect(screen(panel, 'インターネットに接続されていません')).toBeVisible()
  await inspect(panel, 'offline')
  await browser.context.setOffline(false)
  await ready(panel).click()
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await expect(panel.getByRole('button', { name: '回答をコピー' })).toBeVisible()
  await browser.context.setOffline(true)
  await expect(panel.getByText('インターネットに接続されていません')).toBeVisible()
  await expect(panel.locator('[data-answer]')).toContainText('在宅勤務の対象が広がります。')
  await panel.getByLabel('質問').fill('いつからですか')
  await panel.getByLabel('質問').press('Enter')
  await expect(panel.getByRole('button', { name: '送信' })).toBeDisabled()
  await expect(panel.getByLabel('質問')).toHaveValue('いつからですか')
  await inspect(panel, 'offline-conversation')
  await browser.context.setOffline(false)
  await expect(panel.getByRole('button', { name: '送信' })).toBeEnabled()
})

test('a suspended member, who signs in again once restored', async ({
  browserWith: browser,
  site,
  server,
}) => {
  const admin = await Account.signIn(server.url, 'admin')
  const member = (await membersOf(admin)).find(({ email }) => email === emails.user)
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await ready(panel).click()
  await expect(panel.getByRole('button', { name: '送信', exact: true })).toBeVisible()
  await admin.call('PUT', `/v1/user/${member?.id}`, { state: 'inactive' })
  try {
    await panel.getByRole('button', { name: '送信', exact: true }).click()
    await expect(panel.getByText('このアカウントは利用できません')).toBeVisible()
    await panel.getByRole('button', { name: '新しいチャット' }).click()
    await expect(screen(panel, 'このアカウントは利用できません')).toBeVisible()
    await inspect(panel, 'suspended')
  } finally {
    await admin.call('PUT', `/v1/user/${member?.id}`, { state: 'active' })
  }
  // The suspension has ended the session, and a session that has ended is never restored.
  await panel.getByRole('button', { name: 'やり直す' }).click()
  await expect(screen(panel, 'ログアウトされました')).toBeVisible()
})

test('an organization that requires single sign-on', async ({ installed: browser, site, server }) => {
  // Single sign-on ends all sessions by password, so this test uses a new organization.
  const domain = `sso-${Date.now()}.example`
  const [email, boss] = [`user@${domain}`, `admin@${domain}`] as const
  await server.operate('org', 'create', '--name', domain, '--domain', domain)
  await server.addMember(domain, email, 'general-user')
  await server.addMember(domain, boss, 'organization-super-admin')
  await browser.signIn(server.url, await Account.signIn(server.url, email))
  const panel = await browser.press(await browser.open(`${site.url}/notice`))
  await expect(ready(panel)).toBeVisible()
  const idp = await Idp.start([{ login: 'user', email, name: '利用 者' }])
  const admin = await Account.signIn(server.url, boss)
  await admin.call('PUT', '/v1/saml-config', {
    idp_metadata_xml: await idp.metadata(),
    email_attribute: idp.attributes.email,
    name_attribute: idp.attributes.name,
    email_domains: [domain],
  })
  await admin.call('PUT', '/v1/saml-config/on')
  await panel.reload()
  await expect(screen(panel, 'シングルサインオンが必要です')).toBeVisible()
  await expect(panel.getByRole('button', { name: 'ログイン', exact: true })).toBeEnabled()
  await inspect(panel, 'sso')
  await idp.stop()
})
