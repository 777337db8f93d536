import type { Page } from '@playwright/test'
import { codeOf, secretOf } from './support/factor'
import { breaches, overflow } from './support/inspect'
import { enter, invite, requireSignIn, signOut } from './support/people'
import { expect, testOn } from './support/test'
import { password, Tsumugi } from './support/tsumugi'

// The tests set the organization's policy, so they use a separate server.
const test = testOn('factor', (model) => Tsumugi.start(model))
const chosen = 'Jibun-de-3randa'

test.use({ who: null })
test.describe.configure({ mode: 'serial' })

const code = (page: Page) => page.getByLabel('確認コード')

async function reviewed(page: Page): Promise<void> {
  expect(await breaches(page)).toEqual([])
  expect((await overflow(page)).by).toBe(0)
}

test('a member sets up a second factor, signs in with codes, and an administrator resets it', async ({
  page,
  server,
  signIn,
  pageAs,
}) => {
  const admin = await signIn('admin')
  const { email, name, temporary } = await invite(server, admin)
  await page.goto('/login')
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  await page.getByRole('button', { name: '認証アプリを登録' }).click()
  await page.getByLabel('現在のパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '次へ' }).click()
  const secret = await secretOf(page)
  await reviewed(page)
  await code(page).fill('12345')
  await page.keyboard.press('Enter')
  await expect(page.getByText('確認コードは6桁の数字で入力してください。')).toBeVisible()
  await code(page).fill(codeOf(secret))
  await page.keyboard.press('Enter')
  const codes = page.getByRole('region', { name: '回復コード' }).getByRole('listitem')
  await expect(codes).toHaveCount(10)
  const [first = '', second = ''] = await codes.allTextContents()
  await reviewed(page)

  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(code(page)).toBeFocused()
  await expect(code(page)).toHaveAttribute('autocomplete', 'one-time-code')
  await reviewed(page)
  await code(page).fill(codeOf(secret, 5))
  await page.keyboard.press('Enter')
  await expect(page.getByText('確認コードが正しくありません。認証アプリに')).toBeVisible()
  const next = codeOf(secret, 1) // The current code was used by the setup.
  await code(page).fill(`${next.slice(0, 3)} ${next.slice(3)}`)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')

  // Each code of the app signs in once, and so does each recovery code.
  await signOut(page, name)
  await enter(page, email, chosen)
  await code(page).fill(next)
  await page.keyboard.press('Enter')
  await expect(page.getByText('この確認コードは使用済みです。')).toBeVisible()
  await page.getByRole('button', { name: '認証アプリを使えないときは、回復コードを使う' }).click()
  await page.getByLabel('回復コード').fill(first)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
  await signOut(page, name)
  await enter(page, email, chosen)
  await page.getByRole('button', { name: '認証アプリを使えないときは、回復コードを使う' }).click()
  await page.getByLabel('回復コード').fill(first)
  await page.keyboard.press('Enter')
  await expect(page.getByText('回復コードが正しくないか、使用済みです。')).toBeVisible()
  await page.getByLabel('回復コード').fill(second.toUpperCase())
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')

  const office = await pageAs(admin)
  await office.goto(`/admin/organization/member?q=${encodeURIComponent(email)}`)
  await expect(office.getByText('二段階認証あり')).toBeVisible()
  await office.getByRole('button', { name: `${name}さんの操作` }).click()
  await office.getByRole('menuitem', { name: '二段階認証をリセット' }).click()
  await office.getByRole('button', { name: 'リセットする' }).click()
  await expect(office.getByText(`${name}さんの二段階認証をリセットしました。`)).toBeVisible()
  await expect(office.getByText('二段階認証あり')).toBeHidden()
  // The reset ended the member's sessions.
  await page.waitForURL('**/login')
  await enter(page, email, chosen)
  await page.waitForURL('**/home/skill')
})

test('the policy of the organization forces the setup at sign-in', async ({
  page,
  server,
  signIn,
  pageAs,
}) => {
  const admin = await signIn('admin')
  const { email, temporary } = await invite(server, admin)
  const office = await pageAs(admin)
  await office.goto('/admin/saml')
  await office.getByLabel('二段階認証が必要なメンバー').selectOption('全員')
  await requireSignIn(office, '**/v1/factor-policy')
  await office.getByRole('button', { name: '二段階認証の設定を変更' }).click()
  const confirmation = office.getByRole('dialog', { name: '本人確認' })
  await confirmation.getByRole('button', { name: 'キャンセル' }).click()
  await expect(office.getByText('この操作には、15分以内のログインが必要です。')).toBeVisible()
  await office.getByRole('button', { name: '二段階認証の設定を変更' }).click()
  await reviewed(office)
  await confirmation.getByLabel('パスワード', { exact: true }).fill('wrong')
  await office.keyboard.press('Enter')
  await expect(confirmation.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
  await confirmation.getByLabel('パスワード', { exact: true }).fill(password)
  await office.keyboard.press('Enter')
  await expect(office.getByText('二段階認証の設定を変更しました。')).toBeVisible()
  await expect(confirmation).toBeHidden()

  await page.goto('/login')
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
  await expect(page.getByRole('heading', { level: 1, name: '二段階認証の設定' })).toBeVisible()
  const secret = await secretOf(page)
  await reviewed(page)
  await code(page).fill(codeOf(secret))
  await page.getByRole('button', { name: '登録してログイン' }).click()
  await expect(page.getByRole('region', { name: '回復コード' }).getByRole('listitem')).toHaveCount(10)
  await reviewed(page)
  await page.getByRole('button', { name: '保管したので、続ける' }).click()
  await page.waitForURL('**/home/skill')
  await page.goto('/setting/factor')
  await expect(page.getByText('二段階認証は設定されています。未使用の回復コードは10個です。')).toBeVisible()
  await expect(page.getByRole('button', { name: '二段階認証を解除' })).toBeHidden()
})
