import { Account, emails } from './support/account'
import { readToken } from './support/people'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

/** These tests end sessions, so they use a separate server. */
const test = testOn('sessions', () => Tsumugi.start(null))

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
