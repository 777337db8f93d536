import { createHash } from 'node:crypto'
import { Account } from './support/account'
import { requireSignIn } from './support/people'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

const verifier = 'verifier-verifier-verifier-verifier-verifier'
const redirect = 'http://127.0.0.1:9/callback'

/** The URL of the page where a user connects the command line. */
function grantPage(change: Record<string, string> = {}): string {
  return `/oauth/grant?${new URLSearchParams({
    response_type: 'code',
    client_id: 'tsumugi-cli',
    redirect_uri: redirect,
    scope: 'chat',
    state: 'xyz',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...change,
  })}`
}

async function post(url: string, form: Record<string, string>): Promise<Record<string, string>> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  return (await answer.json()) as Record<string, string>
}

test.describe('connections', () => {
  test.use({ who: 'user' })

  test('R85: a user allows an app, sees it, and ends it', async ({ pageAs, server }) => {
    // A separate session, because signing in again replaces it.
    const page = await pageAs(await Account.signIn(server.url, 'user'))
    let left: URL | undefined
    await page.route('http://127.0.0.1:9/**', (route) => {
      left = new URL(route.request().url())
      return route.fulfill({ contentType: 'text/html', body: '<title>App</title>' })
    })
    await page.goto(grantPage())
    await expect(page.getByText('Tsumugi コマンドラインツール')).toBeVisible()
    await expect(page.getByText('user@demo.example')).toBeVisible()
    await page.getByRole('button', { name: 'キャンセル' }).click()
    await expect(page).toHaveTitle('App')
    expect(left?.searchParams.get('error')).toBe('access_denied')

    await page.goto(grantPage())
    await requireSignIn(page, '**/v1/oauth2/grant')
    await page.getByRole('button', { name: '許可する' }).click()
    const confirmation = page.getByRole('dialog', { name: '本人確認' })
    await confirmation.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await expect.poll(() => left?.searchParams.get('code')).toBeTruthy()
    expect(left?.searchParams.get('state')).toBe('xyz')
    await expect(page).toHaveTitle('App') // Otherwise, the navigation to the app may interrupt the next one.
    const tokens = await post(`${server.url}/v1/oauth2/token`, {
      grant_type: 'authorization_code',
      client_id: 'tsumugi-cli',
      code: left?.searchParams.get('code') ?? '',
      redirect_uri: redirect,
      code_verifier: verifier,
    })
    const me = () =>
      fetch(`${server.url}/v1/me`, { headers: { Authorization: `Bearer ${tokens.access_token}` } })
    expect((await me()).status).toBe(200)

    await page.goto('/setting/connections')
    await page.getByRole('button', { name: /コマンドラインツール」の\s*接続を解除/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: '接続を解除' }).click()
    await expect(page.getByText('接続しているアプリはありません。')).toBeVisible()
    expect((await me()).status).toBe(401)
  })

  test('R85: an invalid request is refused, or redirected to the app', async ({ page }) => {
    await page.goto(grantPage({ redirect_uri: 'https://evil.example/' }))
    await expect(page.getByRole('alert')).toContainText('登録されていません')
    await page.route('http://127.0.0.1:9/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>App</title>' }),
    )
    await page.goto(grantPage({ code_challenge_method: 'plain' }))
    await expect(page).toHaveTitle('App')
    expect(page.url()).toContain('error=invalid_request')
  })

  test('a device is confirmed by its code', async ({ page, server }) => {
    const device = await post(`${server.url}/v1/oauth2/device`, { client_id: 'tsumugi-cli', scope: 'chat' })
    await page.goto(`/oauth/device?user_code=${device.user_code}`)
    await expect(page.getByLabel('コード')).toHaveValue(device.user_code ?? '')
    await page.getByRole('button', { name: '次へ' }).click()
    await expect(page.getByText('許可しないでください')).toBeVisible()
    await page.getByRole('button', { name: '許可する' }).click()
    await expect(page.getByRole('status').filter({ hasText: '許可しました' })).toBeVisible()
    const tokens = await post(`${server.url}/v1/oauth2/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'tsumugi-cli',
      device_code: device.device_code ?? '',
    })
    expect(tokens.access_token).toMatch(/^tsa_/)
    await page.goto('/oauth/device?user_code=BCDF-GHJK')
    await page.getByRole('button', { name: '次へ' }).click()
    await expect(page.getByText('コードが正しくないか')).toBeVisible()
  })

  test('a personal access token is shown once, and forbidden by an administrator', async ({
    page,
    server,
  }) => {
    await page.goto('/setting/connections')
    await page.getByRole('button', { name: 'トークンを作成' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: '作成する' }).click()
    await expect(dialog.getByText('名前を入力してください。')).toBeVisible()
    await dialog.getByLabel('名前').fill('月次の集計')
    await dialog.getByRole('button', { name: '作成する' }).click()
    const shown = dialog.locator('code')
    await expect(shown).toHaveText(/^tsk_/)
    const token = (await shown.textContent()) ?? ''
    await dialog.getByRole('button', { name: 'コピー' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token)
    await dialog.getByText('閉じる', { exact: true }).click()
    await expect(page.getByRole('listitem').filter({ hasText: '月次の集計' })).toContainText(
      'まだ使われていません',
    )
    const status = async () =>
      (await fetch(`${server.url}/v1/thread`, { headers: { Authorization: `Bearer ${token}` } })).status
    expect(await status()).toBe(200)
    const admin = await Account.signIn(server.url, 'admin')
    await admin.call('PUT', '/v1/connection-policy', { personal_tokens: false })
    expect(await status()).toBe(401)
    await page.reload()
    await expect(page.getByText('この組織では、個人用アクセストークンを使用できません。')).toBeVisible()
    await admin.call('PUT', '/v1/connection-policy', { personal_tokens: true })
  })

  test('a token whose response was lost is created once, and is in the list', async ({ page }) => {
    await page.goto('/setting/connections')
    let calls = 0
    await page.route('**/v1/connection/token', async (route) => {
      if (calls++ > 0) return route.continue()
      await route.fetch()
      await route.abort('connectionreset')
    })
    await page.getByRole('button', { name: 'トークンを作成' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('名前').fill('夜間の集計')
    await dialog.getByRole('button', { name: '作成する' }).click()
    await expect(page.getByText('作成できませんでした。')).toBeVisible()
    await dialog.getByRole('button', { name: '作成する' }).click()
    await expect(page.getByText('このトークンはすでに作成されており')).toBeVisible()
    await expect(dialog).toBeHidden()
    await expect(page.getByRole('listitem').filter({ hasText: '夜間の集計' })).toHaveCount(1)
  })
})

test.describe('without a session', () => {
  test.use({ who: null })

  test('R57: a user who signs in first returns to the app’s request', async ({ page }) => {
    await page.goto(grantPage())
    await page.waitForURL('**/login')
    await page.getByLabel('メールアドレス').fill('user@demo.example')
    await page.keyboard.press('Enter')
    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await expect(page.getByRole('button', { name: '許可する' })).toBeVisible()
  })
})

test.describe('the connections of an organization', () => {
  test.use({ who: 'admin' })

  test('are listed for its administrators, who end them', async ({ page, server }) => {
    const user = await Account.signIn(server.url, 'user')
    await user.call('POST', '/v1/connection/token', {
      request_id: crypto.randomUUID(),
      name: '週次の集計',
      scopes: ['chat'],
      expires_on: new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10),
    })
    await page.goto('/admin/connection')
    await page.getByRole('button', { name: /「週次の集計」の\s*接続を解除/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: '接続を解除' }).click()
    await expect(page.getByRole('row').filter({ hasText: '週次の集計' })).toHaveCount(0)
    await page.getByRole('button', { name: '禁止する' }).click()
    await page.getByRole('dialog').getByRole('button', { name: '禁止する' }).click()
    await expect(page.getByText('禁止しています')).toBeVisible()
    await page.getByRole('button', { name: '許可する' }).click()
    await expect(page.getByText('許可しています')).toBeVisible()
  })
})
