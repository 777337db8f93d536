import type { BrowserContext, Page } from '@playwright/test'
import { emails } from './support/account'
import { forget } from './support/forget'
import { Idp } from './support/idp'
import { readToken } from './support/people'
import { expect, testOn } from './support/test'
import { password, Tsumugi } from './support/tsumugi'

/** Known at the identity provider by the address of the demo organization's super-admin. */
const boss = { login: 'boss', email: emails.admin, name: '管理 者' }
/** Claims another user's address. */
const mallory = { login: 'mallory', email: 'hanako@demo.example', name: '別人' }
const hanako = { login: 'hanako', email: 'hanako@demo.example', name: '佐藤 花子' }

interface Fixtures {
  readonly idp: Idp
  /** The organization of this server uses single sign-on; the server is not shared. */
  readonly sso: Tsumugi
}

/** The servers that have been switched to single sign-on. */
const switched = new WeakSet<Tsumugi>()

const test = testOn('sso', () => Tsumugi.start(null)).extend<Fixtures>({
  idp: [
    async ({ programs }, use) => use(await programs.get('sso idp', () => Idp.start([hanako, boss, mallory]))),
    { timeout: 300_000 },
  ],
  sso: async ({ server, idp, signIn }, use) => {
    if (!switched.has(server)) {
      await signIn('user') // An earlier session by password.
      const admin = await signIn('admin')
      await admin.call('PUT', '/v1/saml-config', {
        idp_metadata_xml: await idp.metadata(),
        email_attribute: idp.attributes.email,
        name_attribute: idp.attributes.name,
        email_domains: ['demo.example'],
      })
      await admin.call('PUT', '/v1/saml-config/on')
      switched.add(server)
    }
    await use(server)
  },
})

/** Signs in on the organization's own page, starting at the page that the visitor requested. */
async function comeIn(page: Page, idp: Idp, from = '/login', who = hanako): Promise<void> {
  await page.goto(from)
  await page.getByLabel('メールアドレス').fill(who.email)
  await page.keyboard.press('Enter')
  await idp.enter(page, who)
}

const expired = (idToken: string | undefined) => async (context: BrowserContext) => {
  const refused = new Set<Page>()
  await context.route(/\/v1\/(me|skill|category|notification|thread)(\?|$)/, async (route) => {
    if (route.request().headers().authorization !== `Bearer ${idToken}`) return route.continue()
    refused.add(route.request().frame().page())
    const problem = { status: 401, code: 'unauthenticated', detail: 'jwt expired' }
    return route.fulfill({ status: 401, contentType: 'application/problem+json', json: problem })
  })
  return refused
}

test.describe('single sign-on', () => {
  test.use({ who: null })

  test('leads back to the requested page, and has the menu of its kind', async ({ page, idp, sso }) => {
    await comeIn(page, idp, '/login?next=%2Fhome%2Fskill%3Fq%3D%25E8%25A6%2581%25E7%25B4%2584')
    await page.waitForURL(`${sso.url}/home/skill?q=%E8%A6%81%E7%B4%84`)
    const record = await readToken(page)
    expect(record).toMatchObject({ authType: 'federated_idp', expiresIn: 3600, tokenType: 'Bearer' })
    expect(Object.keys(record ?? {})).toHaveLength(7)
    await page.getByRole('button', { name: `${hanako.name}さんのメニュー` }).click()
    await expect(page.getByRole('menuitem', { name: 'ログアウト' })).toBeVisible()
    await expect(page.getByRole('menuitem', { name: 'アカウント設定' })).toHaveCount(0)
    await page.goto('/setting/change-password')
    await page.waitForURL('**/home/skill')
    await expect(page.getByText('組織の認証画面で管理されています')).toBeVisible()
  })

  test('R56: leads to no other site', async ({ page, idp, sso }) => {
    await comeIn(page, idp, '/login?next=%2F%2Fevil.example%2Fhome')
    await page.waitForURL(`${sso.url}/home/skill`)
  })

  test('is renewed by the API, once for all tabs', async ({ page, idp, sso, context }) => {
    await comeIn(page, idp)
    await page.waitForURL(`${sso.url}/home/skill`)
    const before = await readToken(page)
    // Pending requests of the page must not be refused.
    await page.goto('about:blank')
    const renewals: string[] = []
    context.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname === '/v1/refresh_token' || pathname === '/pool/') renewals.push(pathname)
    })
    const refused = await expired(before?.idToken)(context)
    // The token is renewed once both tabs have been refused.
    await context.route('**/v1/refresh_token', async (route) => {
      await expect.poll(() => refused.size).toBe(2)
      await route.continue()
    })
    const other = await context.newPage()
    await Promise.all([page.goto('/home/skill'), other.goto('/home/skill')])
    for (const tab of [page, other])
      await expect(tab.getByRole('heading', { level: 1 })).toContainText(`${hanako.name}さん`)
    expect(refused.size).toBe(2)
    expect(renewals).toEqual(['/v1/refresh_token'])
    const after = await readToken(page)
    expect(after).toMatchObject({ authType: 'federated_idp', refreshToken: before?.refreshToken })
    expect(after?.idToken).not.toBe(before?.idToken)
  })

  test('R75, R45: signing out ends it in all tabs, and revokes its refresh token', async ({
    page,
    idp,
    sso,
    context,
  }) => {
    await comeIn(page, idp)
    await page.waitForURL(`${sso.url}/home/skill`)
    const record = await readToken(page)
    const other = await context.newPage()
    await other.goto('/home/skill')
    await expect(other.getByRole('heading', { level: 1 })).toContainText(`${hanako.name}さん`)
    await page.getByRole('button', { name: `${hanako.name}さんのメニュー` }).click()
    await page.getByRole('menuitem', { name: 'ログアウト' }).click()
    await page.waitForURL('**/logout/success')
    await other.waitForURL('**/login')
    expect(await readToken(page)).toBeNull()
    const refreshed = await fetch(`${sso.url}/v1/refresh_token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ client_id: record?.clientId, refresh_token: record?.refreshToken }),
    })
    expect(refreshed.status).toBe(401)
    const answered = await fetch(`${sso.url}/v1/me`, {
      headers: { Authorization: `Bearer ${record?.idToken}` },
    })
    expect(answered.status).toBe(401)
    await other.close()
  })

  test('R57: another browser cannot use the code', async ({ page, idp, sso, browser }) => {
    // The redirect itself cannot be delayed, but the response that causes it can.
    const caught = new Promise<string>((resolve) => {
      void page.route('**/v1/saml/*/acs', async (route) => {
        const answer = await route.fetch({ maxRedirects: 0 })
        resolve(answer.headers().location ?? '')
        await route.abort()
      })
    })
    await comeIn(page, idp)
    const thief = await browser.newContext({ baseURL: sso.url, locale: 'ja-JP' })
    const theirs = await thief.newPage()
    const link = await caught
    expect(link).toContain('code=')
    await theirs.goto(link)
    await expect(theirs.getByRole('heading', { level: 1, name: 'ログインできませんでした' })).toBeVisible()
    expect(new URL(theirs.url()).search).toBe('')
    expect(await readToken(theirs)).toBeNull()
    await theirs.getByRole('link', { name: 'もう一度ログイン' }).click()
    await theirs.waitForURL('**/login')
    await thief.close()
  })

  test('R58: makes no user an administrator without the password and their consent', async ({
    page,
    idp,
    sso,
  }) => {
    await comeIn(page, idp, '/login', boss)
    await page.waitForURL('**/login/link')
    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await expect(page.getByText('シングルサインオンとこのアカウントを連携しますか？')).toBeVisible()
    await page.getByRole('button', { name: '連携しない' }).click()
    await page.waitForURL('**/login')
    expect(await readToken(page)).toBeNull()
    await page.context().clearCookies() // The provider's session as well.
    await comeIn(page, idp, '/login', boss)
    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '連携する' }).click()
    await page.waitForURL(`${sso.url}/home/skill`)
    expect(await readToken(page)).toMatchObject({ authType: 'federated_idp' })
    await forget(page)
    await page.context().clearCookies()
    await comeIn(page, idp, '/login', boss)
    await page.waitForURL(`${sso.url}/home/skill`)
  })

  test('R58: does not take over a member by their address, until an administrator unlinks them', async ({
    page,
    idp,
    sso,
    signIn,
  }) => {
    await comeIn(page, idp)
    await page.waitForURL(`${sso.url}/home/skill`)
    await forget(page)
    await page.context().clearCookies()
    await comeIn(page, idp, '/login', mallory)
    await expect(page.getByRole('heading', { level: 1, name: 'ログインできませんでした' })).toBeVisible()
    await expect(page.getByRole('alert')).toContainText('連携の解除を依頼してください')

    const admin = await signIn('admin')
    await page.evaluate(
      (record) => localStorage.setItem('tsumugiToken', record),
      admin.storage.tsumugiToken ?? '',
    )
    await page.goto('/admin/organization/member')
    await page.getByRole('button', { name: `${hanako.name}さんの操作` }).click()
    await page.getByRole('menuitem', { name: 'シングルサインオンの連携を解除' }).click()
    await page.getByRole('button', { name: '解除する' }).click()
    await expect(page.getByText(`${hanako.name}さんの連携を解除しました。`)).toBeVisible()
    await page.getByRole('button', { name: `${hanako.name}さんの操作` }).click()
    await expect(page.getByRole('menuitem', { name: '編集' })).toBeVisible()
    await expect(page.getByRole('menuitem', { name: 'シングルサインオンの連携を解除' })).toHaveCount(0)
    await page.goto('/admin/audit')
    await expect(page.getByRole('table').getByText('シングルサインオンとの連携の解除')).toBeVisible()
  })

  test('is the only way for members: a password is not enough', async ({ page, sso }) => {
    await page.goto(`${sso.url}/login/super-admin`)
    await page.getByLabel('メールアドレス').fill(emails.user)
    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await expect(page.getByText('組織の特権管理者だけです')).toBeVisible()
    expect(await readToken(page)).toBeNull()
    await page.goto('/reset/password')
    await page.getByLabel('メールアドレス').fill(emails.user)
    await page.keyboard.press('Enter')
    await expect(page.getByText('パスワードは組織の認証画面で管理されています。')).toBeVisible()
    await page.getByRole('button', { name: 'ログイン画面へ' }).click()
    await page.waitForURL('**/login')
    await expect(page.getByLabel('メールアドレス')).toHaveValue(emails.user)
  })
})

test('a session by password from before ends, with the reason', async ({ page, sso }) => {
  await page.goto(`${sso.url}/home/skill`)
  await page.waitForURL('**/login')
  await expect(page.getByText('この組織ではシングルサインオンでログインしてください。')).toBeVisible()
  expect(await readToken(page)).toBeNull()
})

test.describe('the super-admin', () => {
  test.use({ who: 'admin' })

  test('keeps a session by password, and may change the password', async ({ page, sso }) => {
    await page.goto(`${sso.url}/setting/change-password`)
    await expect(page.getByRole('heading', { level: 1, name: 'パスワードの変更' })).toBeVisible()
    await forget(page)
    await page.goto('/login')
    await page.getByText('招待を受けていない方・ログインできない方').click()
    await page.getByRole('link', { name: '特権管理者としてパスワードでログイン' }).click()
    await expect(page.getByRole('heading', { name: '特権管理者のログイン' })).toBeVisible()
    await page.getByLabel('メールアドレス').fill(emails.admin)
    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/home/skill')
  })
})
