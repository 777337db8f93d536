import { Account, emails } from './support/account'
import { breaches, overflow } from './support/inspect'
import { readToken } from './support/people'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

/** These tests end sessions, so they use a separate server. */
const test = testOn('sessions', () => Tsumugi.start(null, { TSUMUGI_TRUSTED_PROXIES: '127.0.0.1/32' }))

test.describe('the sessions of a user', () => {
  test.use({ who: 'user' })

  test('R45: are listed, and end one by one and together', async ({ page, server, browser }) => {
    await page.goto('/home/skill')
    await page.getByRole('button', { name: /さんのメニュー/ }).click()
    await page.getByRole('menuitem', { name: 'アカウント設定' }).click()
    await page.getByRole('link', { name: 'ログイン中の端末' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'ログイン中の端末' })).toBeVisible()
    const lines = page.getByRole('list', { name: 'ログイン中の端末' }).getByRole('listitem')
    await expect(lines.filter({ hasText: 'この端末' })).toHaveCount(1)

    const theirs = await Account.signIn(server.url, 'user')
    const context = await browser.newContext({ baseURL: server.url, locale: 'ja-JP' })
    const other = await context.newPage()
    await other.addInitScript((record) => {
      if (sessionStorage.getItem('given') === null) localStorage.setItem('tsumugiToken', record)
      sessionStorage.setItem('given', 'yes')
    }, theirs.storage.tsumugiToken ?? '')
    await other.goto('/home/skill')
    await expect(other.getByRole('heading', { level: 1 })).toBeVisible()

    await page.reload()
    await expect(lines).toHaveCount(2)
    await lines.filter({ hasNotText: 'この端末' }).getByRole('button').click()
    await expect(lines).toHaveCount(1)
    // Its live connection ends, and with it the session in that browser.
    await other.waitForURL('**/login')
    expect(await readToken(other)).toBeNull()
    await context.close()
  })

  test('R45: end by an administrator', async ({ page, server }) => {
    await page.goto('/home/skill')
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    const admin = await Account.signIn(server.url, 'admin')
    const { items } = (await (await admin.call('GET', '/v1/user')).json()) as {
      items: { id: string; email: string }[]
    }
    const user = items.find(({ email }) => email === emails.user)
    await admin.call('DELETE', `/v1/user/${user?.id}/session`)
    await page.waitForURL('**/login')
    await expect(page.getByText('ログインの有効期間が終了しました。')).toBeVisible()
  })
})

test.describe('the duration of sessions', () => {
  test.use({ who: 'admin' })

  test('is set by a super-admin', async ({ page }) => {
    await page.goto('/admin/saml')
    const kind = page.getByRole('group', { name: 'シングルサインオン' })
    await kind.getByLabel('ログインからの時間').selectOption({ label: '1日' })
    await kind.getByLabel('操作しない時間').selectOption({ label: '1時間' })
    const connection = page.getByRole('group', { name: '拡張機能などの接続' }).getByLabel('使わない時間')
    await expect(connection).toHaveValue('43200')
    await connection.selectOption({ label: '7日' })
    await page.getByRole('button', { name: '保存する' }).click()
    await expect(page.getByText('ログインの有効期間を変更しました。')).toBeVisible()
    await page.reload()
    await expect(kind.getByLabel('操作しない時間')).toHaveValue('60')
    await expect(kind.getByLabel('ログインからの時間')).toHaveValue('1440')
    await expect(connection).toHaveValue('10080')
  })
})

test.describe('the networks of an organization', () => {
  test.use({ who: 'admin' })

  test('are set by a super-admin, and end the sessions elsewhere', async ({ page, server, browser }) => {
    await page.setExtraHTTPHeaders({ 'X-Forwarded-For': '203.0.113.7' })
    await page.goto('/admin/saml')
    const ranges = page.getByRole('textbox', { name: 'アプリの利用を許可するIPアドレスの範囲' })
    const change = async (text: string, field = ranges) => {
      await field.fill(text)
      await page.getByRole('button', { name: '接続元の制限を変更' }).click()
      if (text !== '') await page.getByRole('button', { name: '制限する' }).click()
    }
    await change('198.51.100.0/24')
    await expect(page.getByText('現在の接続元（203.0.113.7）が含まれていません。')).toBeVisible()
    await change('203.0.113.9/24\n2001:db8::1')
    await expect(page.getByText('接続元の制限を変更しました。')).toBeVisible()
    await expect(ranges).toHaveValue('203.0.113.0/24\n2001:db8::1/128')

    const context = await browser.newContext({ baseURL: server.url, locale: 'ja-JP' })
    const elsewhere = await context.newPage()
    const { storage } = await Account.signIn(server.url, 'user')
    await elsewhere.addInitScript((record) => {
      if (sessionStorage.getItem('given') === null) localStorage.setItem('tsumugiToken', record)
      sessionStorage.setItem('given', 'yes')
    }, storage.tsumugiToken ?? '')
    await elsewhere.goto('/home/skill')
    await elsewhere.waitForURL('**/login')
    await expect(elsewhere.getByText('許可されたネットワークからだけ利用できます。')).toBeVisible()
    await context.close()

    // The API has other networks than the app.
    const own = page.getByLabel('API（個人用アクセストークン）', { exact: true })
    const api = page.getByRole('textbox', { name: 'API（個人用アクセストークン）の利用を許可する' })
    await own.selectOption('アプリとは別に決める')
    await change('factory', api)
    await expect(page.getByText('「factory」は、IPアドレスの範囲')).toBeVisible()
    await expect(api).toHaveAttribute('aria-invalid', 'true')
    await change('192.0.2.0/24', api)
    await expect(page.getByText('接続元の制限を変更しました。').last()).toBeVisible()
    expect(await breaches(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(async () => (await overflow(page)).by).toBe(0)
    await page.reload()
    await expect(api).toHaveValue('192.0.2.0/24')
    await expect(page.getByLabel('接続（ブラウザー拡張機能など）')).toHaveValue('app')
    await own.selectOption('アプリと同じ')

    await change('')
    await expect(page.getByText('どのネットワークからも利用できます。')).toBeVisible()
  })
})
