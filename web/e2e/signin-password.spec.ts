import type { Page } from '@playwright/test'
import { emails } from './support/account'
import { forget } from './support/forget'
import { breaches, inspect } from './support/inspect'
import { fact } from './support/mail'
import { enter, invite, newMail, readToken } from './support/people'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

const chosen = 'Jibun-de-3randa'
const next = 'Momiji-2026-aki'
const secret = (page: Page) => page.getByLabel('パスワード', { exact: true })
const newSecret = (page: Page) => page.getByLabel('新しいパスワード', { exact: true })
const greeting = (page: Page, name: string) =>
  expect(page.getByRole('heading', { level: 1 })).toContainText(`${name}さん`)

test.use({ who: null })

test('an invitation leads to the sign-in with the address, and a password is chosen', async ({
  page,
  server,
  signIn,
}) => {
  const invited = await invite(server, await signIn('admin'))
  await page.goto(invited.mail.link)
  const address = page.getByLabel('メールアドレス')
  await expect(address).toHaveValue(invited.email)
  // Neither the history nor the tag manager gets the address.
  expect(new URL(page.url()).search).toBe('')
  await address.press('Enter')
  await secret(page).fill(invited.temporary)
  await page.keyboard.press('Enter')

  await expect(page.getByRole('heading', { level: 1, name: '新しいパスワードの設定' })).toBeVisible()
  await newSecret(page).fill('short')
  await page.keyboard.press('Enter')
  await expect(page.getByText('パスワードの条件をすべて満たしてください。')).toBeVisible()
  await expect(newSecret(page)).toBeFocused()
  await expect(page.getByText('（まだ満たしていません）')).toHaveCount(4)
  await newSecret(page).fill(chosen)
  await expect(page.getByText('（まだ満たしていません）')).toHaveCount(0)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  await page.waitForURL('**/home/skill')
  await greeting(page, invited.name)
  expect(await readToken(page)).toMatchObject({ authType: 'cognito' })

  await page.getByRole('button', { name: `${invited.name}さんのメニュー` }).click()
  await page.getByRole('menuitem', { name: 'ログアウト' }).click()
  await page.waitForURL('**/logout/success')
  await page.getByRole('link', { name: 'もう一度ログイン' }).click()
  await expect(address).toHaveValue('')
  await enter(page, invited.email, invited.temporary)
  await expect(page.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
  await secret(page).fill(chosen)
  await page.keyboard.press('Enter')
  await greeting(page, invited.name)

  // A session that ends by itself leaves the address, so that the way of signing in is one step away.
  await page.route('**/v1/me', (route) =>
    route.fulfill({ status: 401, json: { status: 401, code: 'unauthenticated', detail: 'ended' } }),
  )
  await page.reload()
  await page.waitForURL('**/login')
  await expect(address).toHaveValue(invited.email)
})

test('an invitation is not applied to another signed-in user', async ({ page, server, signIn }) => {
  const invited = await invite(server, await signIn('admin'))
  await page.goto('/login')
  await enter(page, emails.user, password)
  await greeting(page, '山田 太郎')
  await page.goto(invited.mail.link)
  await expect(page.getByLabel('メールアドレス')).toHaveValue(invited.email)
  await page.goto(`/login?email=${encodeURIComponent(emails.user)}`)
  await page.waitForURL('**/home/skill')
})

test('signing in works by keyboard alone', async ({ page, server, signIn }) => {
  const invited = await invite(server, await signIn('admin'))
  await page.goto('/login')
  await expect(page.getByLabel('メールアドレス')).toBeFocused()
  await page.keyboard.type(invited.email)
  await page.keyboard.press('Enter')
  await expect(secret(page)).toBeFocused()
  await page.keyboard.type(invited.temporary)
  // The password is shown, and hidden again, without leaving the form.
  await page.keyboard.press('Tab')
  await expect(page.getByRole('button', { name: 'パスワードを表示' })).toBeFocused()
  await page.keyboard.press('Space')
  await expect(secret(page)).toHaveAttribute('type', 'text')
  await page.keyboard.press('Tab')
  await expect(page.getByRole('button', { name: 'ログイン' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(newSecret(page)).toBeFocused()
  await page.keyboard.type(chosen)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
  await greeting(page, invited.name)
})

/** A new account with a known password. */
async function member(page: Page, server: Parameters<typeof invite>[0], admin: Parameters<typeof invite>[1]) {
  const invited = await invite(server, admin)
  await page.goto('/login')
  await enter(page, invited.email, invited.temporary)
  await newSecret(page).fill(chosen)
  await page.keyboard.press('Enter')
  await greeting(page, invited.name)
  return invited
}

test('R42, R45: a forgotten password is replaced with the mailed code, which ends other sessions', async ({
  page,
  server,
  signIn,
  browser,
}) => {
  const { email, name } = await member(page, server, await signIn('admin'))
  const elsewhere = await browser.newContext({ baseURL: server.url, locale: 'ja-JP' })
  const forgetful = await elsewhere.newPage()
  await forgetful.goto('/login')
  await forgetful.getByLabel('メールアドレス').fill(email)
  await forgetful.keyboard.press('Enter')
  await forgetful.getByRole('link', { name: 'パスワードをお忘れの方' }).click()
  await expect(forgetful.getByLabel('メールアドレス')).toHaveValue(email)
  await forgetful.getByRole('button', { name: '確認コードを送信' }).click()
  await expect(forgetful.getByText(`${email} が登録されている場合は`)).toBeVisible()
  await expect(forgetful.getByRole('button', { name: /コードを再送信（あと\d+秒）/ })).toBeDisabled()
  const code = fact(await newMail(server, email, 1), '確認コード')

  const wrong = code === '123456' ? '654321' : '123456'
  await forgetful.getByLabel('確認コード').fill(wrong)
  await newSecret(forgetful).fill(next)
  await forgetful.keyboard.press('Enter')
  await expect(forgetful.getByText('確認コードが正しくありません。')).toBeVisible()
  await expect(forgetful.getByLabel('確認コード')).toBeFocused()
  await forgetful.getByLabel('確認コード').fill(code)
  await forgetful.keyboard.press('Enter')
  await expect(forgetful.getByRole('heading', { level: 1, name: 'パスワードを再設定しました' })).toBeVisible()
  await forgetful.keyboard.press('Enter')
  await forgetful.waitForURL('**/login')
  await expect(forgetful.getByLabel('メールアドレス')).toHaveValue(email)
  await enter(forgetful, email, next)
  await greeting(forgetful, name)
  await elsewhere.close()

  await page.evaluate(() => location.reload()) // The app goes to another page before this one is loaded.
  await page.waitForURL('**/login')
  await expect(page.getByText('ログインの有効期間が終了しました。')).toBeVisible()
  expect(await readToken(page)).toBeNull()
})

test('R42: the link in the mail asks only for the password, and works once', async ({
  page: signedIn,
  server,
  signIn,
  browser,
}) => {
  const { email } = await member(signedIn, server, await signIn('admin'))
  const elsewhere = await browser.newContext({ baseURL: server.url, locale: 'ja-JP' })
  const page = await elsewhere.newPage()
  const reset = async (text: string) => {
    await newSecret(page).fill(text)
    await page.keyboard.press('Enter')
  }
  await page.goto('/reset/password')
  await page.getByLabel('メールアドレス').fill(email)
  await page.keyboard.press('Enter')
  const { link } = await newMail(server, email, 1)
  await page.goto(link)
  await expect(newSecret(page)).toBeFocused()
  expect(page.url()).toBe(`${server.url}/reset/password`)
  await reset(next)
  await expect(page.getByRole('heading', { level: 1, name: 'パスワードを再設定しました' })).toBeVisible()
  await page.goto(link)
  await reset(chosen)
  await expect(page.getByText('確認コードが無効か、有効期限が切れています。')).toBeVisible()
  await elsewhere.close()
})

test('the reset does not reveal which addresses exist', async ({ page, server }) => {
  const email = `nobody-${crypto.randomUUID()}@demo.example`
  await page.goto(`/reset/password?email=${email}`)
  await page.getByRole('button', { name: '確認コードを送信' }).click()
  await expect(page.getByText(`${email} が登録されている場合は`)).toBeVisible()
  await page.getByLabel('確認コード').fill('１２３４５６')
  await newSecret(page).fill(next)
  await page.keyboard.press('Enter')
  await expect(page.getByText('確認コードが正しくありません。')).toBeVisible()
  expect(await server.mails(email)).toEqual([])
})

test('only the super-admin can sign in by password there', async ({ page, server }) => {
  await page.goto('/login/super-admin')
  await page.getByLabel('メールアドレス').fill(emails.user)
  await secret(page).fill(password)
  const signedIn = page.waitForResponse(
    async (response) =>
      response.request().headers()['x-amz-target']?.endsWith('.InitiateAuth') === true && response.ok(),
  )
  await page.keyboard.press('Enter')
  const { AuthenticationResult: tokens } = (await (await signedIn).json()) as {
    AuthenticationResult: { RefreshToken: string }
  }
  await expect(page.getByText('組織の特権管理者だけです')).toBeVisible()
  expect(await readToken(page)).toBeNull()
  const refreshed = await fetch(`${server.url}/pool/`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.1',
      'X-Amz-Target': 'AWSCognitoIdentityProviderService.InitiateAuth',
    },
    body: JSON.stringify({
      AuthFlow: 'REFRESH_TOKEN_AUTH',
      ClientId: 'tsumugi0web0client0000000',
      AuthParameters: { REFRESH_TOKEN: tokens.RefreshToken },
    }),
  })
  expect(await refreshed.json()).toMatchObject({ __type: 'NotAuthorizedException' })

  await page.getByLabel('メールアドレス').fill(emails.admin)
  await secret(page).fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
  await greeting(page, '管理 花子')
})

test('the password is changed in the settings, except in a session of single sign-on', async ({
  page,
  server,
  signIn,
}) => {
  const { email, name } = await member(page, server, await signIn('admin'))
  await page.getByRole('button', { name: `${name}さんのメニュー` }).click()
  await page.getByRole('menuitem', { name: 'アカウント設定' }).click()
  const change = async (current: string, proposed: string) => {
    await page.getByLabel('現在のパスワード', { exact: true }).fill(current)
    await newSecret(page).fill(proposed)
    await page.keyboard.press('Enter')
  }
  await change('Wrong-Password-1', next)
  await expect(page.getByText('現在のパスワードが正しくありません。')).toBeVisible()
  await expect(page.getByLabel('現在のパスワード', { exact: true })).toBeFocused()
  await change(chosen, `${next} `)
  await expect(page.getByText('パスワードの先頭と末尾には、空白を使えません。')).toBeVisible()
  await expect(newSecret(page)).toBeFocused()
  await change(chosen, next)
  await page.waitForURL('**/home/skill')
  await expect(page.getByText('パスワードを変更しました。')).toBeVisible()

  await page.evaluate(() => {
    const record = JSON.parse(localStorage.getItem('tsumugiToken') ?? '{}') as object
    localStorage.setItem('tsumugiToken', JSON.stringify({ ...record, authType: 'federated_idp' }))
  })
  await page.goto('/setting/change-password')
  await page.waitForURL('**/home/skill')
  await expect(page.getByText('組織の認証画面で管理されています')).toBeVisible()
  await page.getByRole('button', { name: `${name}さんのメニュー` }).click()
  await expect(page.getByRole('menuitem', { name: 'ログアウト' })).toBeVisible()
  await expect(page.getByRole('menuitem', { name: 'アカウント設定' })).toHaveCount(0)
  await forget(page)
  await page.goto('/login')
  await enter(page, email, next)
  await greeting(page, name)
})

test.describe('R56: a sign-in continues at', () => {
  for (const [asked, expected] of [
    ['/home/data-source?a=1', '/home/data-source?a=1'],
    ['//evil.example/home', '/home/skill'],
    ['/\\evil.example/home', '/home/skill'],
    ['/home/..//evil.example', '/home/skill'],
    ['javascript:alert(1)', '/home/skill'],
    ['https://evil.example/home', '/home/skill'],
    ['/\t/evil.example/home', '/home/skill'],
    ['/home\r\nLocation: //evil.example', '/home/skill'],
  ] as const) {
    test(`${JSON.stringify(asked)} → ${expected}`, async ({ page, server }) => {
      await page.goto(`/login?next=${encodeURIComponent(asked)}`)
      await enter(page, emails.user, password)
      await page.waitForURL(server.url + expected)
    })
  }
})

test.describe('accessibility', () => {
  test('the reset, with every error', async ({ page }) => {
    await inspect(page, {
      name: 'address',
      open: async () => {
        await page.goto('/reset/password')
        await page.getByRole('button', { name: '確認コードを送信' }).click()
        await expect(page.getByText('メールアドレスを入力してください。', { exact: true })).toBeVisible()
      },
    })
    await page.setViewportSize({ width: 1280, height: 800 })
    await inspect(page, {
      name: 'code',
      open: async () => {
        await page.goto('/reset/password?email=nobody%40demo.example&code=123456')
        await newSecret(page).fill(next)
        await page.keyboard.press('Enter')
        await expect(page.getByText('確認コードが無効か、有効期限が切れています。')).toBeVisible()
      },
    })
  })

  test("the super-admin's sign-in, and the end of a single sign-on that failed", async ({ page }) => {
    await inspect(page, {
      name: 'super-admin',
      open: async () => {
        await page.goto('/login/super-admin')
        await page.getByRole('button', { name: 'ログイン' }).click()
        await expect(page.getByText('メールアドレスを入力してください。')).toBeVisible()
      },
    })
    for (const error of ['no_seat', 'server_error']) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await inspect(page, {
        name: error,
        open: async () => {
          const description = '組織の認証システムで問題が発生しました。'.repeat(8)
          await page.goto(`/oauth2/callback?error=${error}&error_description=${description}`)
          await expect(
            page.getByRole('heading', { level: 1, name: 'ログインできませんでした' }),
          ).toBeVisible()
        },
      })
    }
  })

  test('the choice of a password, and the sign-in after a session has ended', async ({
    page,
    server,
    signIn,
  }) => {
    const invited = await invite(server, await signIn('admin'))
    await page.goto('/login')
    await page.evaluate(() => sessionStorage.setItem('tsumugiEnded', 'expired'))
    await page.reload()
    await expect(page.getByText('ログインの有効期間が終了しました。')).toBeVisible()
    expect(await breaches(page), 'ended').toEqual([])
    await inspect(page, {
      name: 'new password',
      open: async () => {
        await enter(page, invited.email, invited.temporary)
        await newSecret(page).fill('Abc')
      },
    })
  })
})
