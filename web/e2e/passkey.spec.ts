import type { CDPSession, Page } from '@playwright/test'
import { codeOf, secretOf } from './support/factor'
import { breaches, overflow } from './support/inspect'
import { tsumugi } from './support/paths'
import { enter, invite, newMail, requireSignIn, signOut } from './support/people'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

// Browsers refuse passkeys for IP addresses, so the tests use a server with a name.
const test = testOn('passkey', (model) => Tsumugi.start(model, {}, tsumugi, 'localhost'))
const chosen = 'Jibun-de-3randa'

test.use({ who: null })
test.describe.configure({ mode: 'serial' })

/** Gives a page an authenticator that verifies its user. */
async function addAuthenticator(page: Page): Promise<CDPSession> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return devtools
}

async function reviewed(page: Page): Promise<void> {
  expect(await breaches(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  // The page may be rendered again after the change of its size.
  await expect.poll(async () => (await overflow(page)).by).toBe(0)
  await page.setViewportSize({ width: 1280, height: 720 })
}

/** Confirms the open dialog with the password. */
async function confirm(page: Page, button: string): Promise<void> {
  await page.getByLabel('現在のパスワード', { exact: true }).fill(chosen)
  await page.getByRole('dialog').getByRole('button', { name: button }).click()
}

const withPasskey = (page: Page) => page.getByRole('button', { name: 'パスキーでログイン' })

test('a member adds a passkey, signs in with it, and deletes it', async ({ page, server, signIn }) => {
  const admin = await signIn('admin')
  const { email, name, temporary } = await invite(server, admin)
  await addAuthenticator(page)
  await page.goto('/login')
  await withPasskey(page).click()
  await expect(page.getByText('パスキーの操作が取り消されたか、時間切れになりました。')).toBeVisible()
  await reviewed(page)
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  const section = page.getByRole('region', { name: 'パスキー' })
  await expect(section.getByText('パスキーは登録されていません。')).toBeVisible()
  await section.getByRole('button', { name: 'パスキーを追加' }).click()
  await expect(page.getByRole('dialog').getByLabel('名前')).toHaveValue('パスキー 1')
  await reviewed(page)
  await page.getByRole('dialog').getByLabel('名前').fill('仕事のPC')
  await confirm(page, '次へ')
  await expect(page.getByText('パスキーを追加しました。')).toBeVisible()
  await expect(section.getByRole('listitem')).toContainText(['仕事のPC'])
  await expect(section.getByText('まだ使われていません')).toBeVisible()
  await reviewed(page)
  expect((await newMail(server, email, 1)).text).toContain('パスキーが追加されました')

  // The authenticator has a passkey of the user already.
  await section.getByRole('button', { name: 'パスキーを追加' }).click()
  await confirm(page, '次へ')
  await expect(page.getByText('この端末のパスキーは、すでに登録されています。')).toBeVisible()

  await signOut(page, name)
  await withPasskey(page).click()
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  await expect(section.getByText(/最後の利用: 今日/)).toBeVisible()
  await section.getByRole('button', { name: /仕事のPCを\s*削除/ }).click()
  await confirm(page, '削除する')
  await expect(section.getByText('パスキーは登録されていません。')).toBeVisible()

  await signOut(page, name)
  await withPasskey(page).click()
  await expect(page.getByText('このパスキーではログインできません。')).toBeVisible()
})

test('a passkey is the second factor that the policy requires, and confirms changes', async ({
  page,
  server,
  signIn,
}) => {
  const { email, name, temporary } = await invite(server, await signIn('admin'), 'organization-super-admin')
  await addAuthenticator(page)
  await page.goto('/login')
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  await page.waitForURL('**/home/skill')
  await page.goto('/setting/factor')
  await page.getByRole('button', { name: 'パスキーを追加' }).click()
  await confirm(page, '次へ')
  await expect(page.getByText('パスキーを追加しました。')).toBeVisible()
  await page.getByRole('button', { name: '新しい回復コードを作成' }).click()
  await confirm(page, '作成する')
  const codes = page.getByRole('region', { name: '回復コード' }).getByRole('listitem')
  await expect(codes).toHaveCount(10)
  const [first = ''] = await codes.allTextContents()

  await page.goto('/admin/saml')
  await page.getByLabel('二段階認証が必要なメンバー').selectOption('全員')
  await requireSignIn(page, '**/v1/factor-policy')
  await page.getByRole('button', { name: '二段階認証の設定を変更' }).click()
  const confirmation = page.getByRole('dialog', { name: '本人確認' })
  await withPasskey(page).click()
  await expect(page.getByText('二段階認証の設定を変更しました。')).toBeVisible()
  await expect(confirmation).toBeHidden()

  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(page.getByRole('heading', { level: 1, name: '二段階認証' })).toBeVisible()
  await reviewed(page)
  await page.getByRole('button', { name: 'パスキーを使えないときは、回復コードを使う' }).click()
  await expect(page.getByLabel('回復コード')).toBeFocused()
  await page.getByRole('button', { name: 'パスキーを使う' }).click()
  await withPasskey(page).click()
  await page.waitForURL('**/home/skill')
  await signOut(page, name)
  await enter(page, email, chosen)
  await page.getByRole('button', { name: 'パスキーを使えないときは、回復コードを使う' }).click()
  await page.getByLabel('回復コード').fill(first)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
})

test('a trusted browser is not asked for a code', async ({ page, server, signIn }) => {
  const { email, name, temporary } = await invite(server, await signIn('admin'))
  // The policy of the test before requires a second factor.
  await page.goto('/login')
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  const secret = await secretOf(page)
  await page.getByLabel('確認コード').fill(codeOf(secret))
  await page.getByRole('button', { name: '登録してログイン' }).click()
  await page.waitForURL('**/home/skill')

  await signOut(page, name)
  await enter(page, email, chosen)
  await page.getByLabel('確認コード').fill(codeOf(secret, 1)) // The current code was used by the setup.
  await page.getByLabel(/このデバイスを30日間信頼する/).check()
  await reviewed(page)
  await page.getByRole('button', { name: 'ログイン', exact: true }).click()
  await page.waitForURL('**/home/skill')
  await signOut(page, name)
  await enter(page, email, chosen)
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  const devices = page.getByRole('region', { name: '信頼したデバイス' })
  await expect(devices.getByRole('listitem')).toContainText([/Chrome.*今日/])
  await reviewed(page)
  await devices.getByRole('button', { name: /信頼を解除$/ }).click()
  await expect(devices.getByText('信頼したデバイスはありません。')).toBeVisible()
  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(page.getByLabel('確認コード')).toBeFocused()
})
