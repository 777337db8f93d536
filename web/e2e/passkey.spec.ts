import type { Page } from '@playwright/test'
import { codeOf, secretOf } from './support/factor'
import { breaches, overflow } from './support/inspect'
import { tsumugi } from './support/paths'
import { enter, type Invited, invite, newMail, requireSignIn, signOut } from './support/people'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

// Browsers refuse passkeys for IP addresses, so the tests use a server with a name.
const test = testOn('passkey', (model) => Tsumugi.start(model, {}, tsumugi, 'localhost'))
const chosen = 'Jibun-de-3randa'

test.use({ who: null })
test.describe.configure({ mode: 'serial' })

/**
 * Gives a page an authenticator that verifies its user. The result performs an action while the user uses the
 * authenticator, which answers all requests during that time.
 */
async function addAuthenticator(page: Page): Promise<(action: () => Promise<void>) => Promise<void>> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: false,
    },
  })
  const setPresent = (enabled: boolean) =>
    devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
  return async (action) => {
    await setPresent(true)
    await action()
    await setPresent(false)
  }
}

/** Signs in an invited user for the first time, with a new password. */
async function join(page: Page, { email, temporary }: Invited): Promise<void> {
  await page.goto('/login')
  await enter(page, email, temporary)
  await page.getByLabel('新しいパスワード', { exact: true }).fill(chosen)
  await page.getByRole('button', { name: '設定してログイン' }).click()
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

/** Makes a page offer no passkeys in the suggestions of the address field, so that only the button requests them. */
async function withoutAutofill(page: Page): Promise<void> {
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })
}

/** Makes a page remember its last offer of passkeys in the suggestions of a field. */
async function watchOffers(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const { credentials } = navigator
    const get = credentials.get.bind(credentials)
    credentials.get = (options) => {
      if (options?.mediation === 'conditional') Object.assign(window, { offer: options.signal })
      return get(options)
    }
  })
}

/** The state of the last offer; null for none. */
function offerOf(page: Page): Promise<'made' | 'ended' | null> {
  return page.evaluate(() => {
    const { offer } = window as { offer?: AbortSignal }
    if (!offer) return null
    return offer.aborted ? 'ended' : 'made'
  })
}

const withPasskey = (page: Page) => page.getByRole('button', { name: 'パスキーでログイン' })

test('a member adds a passkey, signs in with it, renames and deletes it', async ({
  page,
  server,
  signIn,
}) => {
  const invited = await invite(server, await signIn('admin'))
  const { name } = invited
  const touch = await addAuthenticator(page)
  await withoutAutofill(page)
  await page.goto('/login')
  await touch(async () => {
    await withPasskey(page).click()
    await expect(page.getByText('パスキーの操作が取り消されたか、時間切れになりました。')).toBeVisible()
  })
  await reviewed(page)
  await join(page, invited)
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  const section = page.getByRole('region', { name: 'パスキー' })
  await expect(section.getByText('パスキーは登録されていません。')).toBeVisible()
  await section.getByRole('button', { name: 'パスキーを追加' }).click()
  await expect(page.getByRole('dialog').getByLabel('名前')).toHaveValue('パスキー 1')
  await reviewed(page)
  await page.getByRole('dialog').getByLabel('名前').fill('仕事のPC')
  await touch(async () => {
    await confirm(page, '次へ')
    await expect(page.getByText('パスキーを追加しました。')).toBeVisible()
  })
  await expect(section.getByRole('listitem')).toContainText(['仕事のPC'])
  await expect(section.getByText('まだ使われていません')).toBeVisible()
  await reviewed(page)
  expect((await newMail(server, invited.email, 1)).text).toContain('パスキーが追加されました')

  // The authenticator has a passkey of the user already.
  await section.getByRole('button', { name: 'パスキーを追加' }).click()
  await touch(async () => {
    await confirm(page, '次へ')
    await expect(page.getByText('この端末のパスキーは、すでに登録されています。')).toBeVisible()
  })
  await section.getByRole('button', { name: /仕事のPCの\s*名前を変更/ }).click()
  const renaming = page.getByRole('dialog', { name: 'パスキーの名前を変更' })
  await renaming.getByLabel('名前').fill(' ')
  await page.keyboard.press('Enter')
  await expect(renaming.getByText('名前を入力してください。')).toBeVisible()
  await renaming.getByLabel('名前').fill('自宅のPC')
  await reviewed(page)
  await page.keyboard.press('Enter')
  await expect(section.getByRole('listitem')).toContainText(['自宅のPC'])

  await signOut(page, name)
  await touch(async () => {
    await withPasskey(page).click()
    await page.waitForURL('**/home/skill')
  })

  await page.goto('/setting/factor')
  await expect(section.getByText(/最終利用：今日/)).toBeVisible()
  await section.getByRole('button', { name: /自宅のPCを\s*削除/ }).click()
  await confirm(page, '削除する')
  await expect(section.getByText('パスキーは登録されていません。')).toBeVisible()

  await signOut(page, name)
  await touch(async () => {
    await withPasskey(page).click()
    await expect(page.getByText('このパスキーではログインできません。')).toBeVisible()
  })
})

test('the address field offers passkeys', async ({ page, server, signIn }) => {
  const invited = await invite(server, await signIn('admin'))
  const touch = await addAuthenticator(page)
  await join(page, invited)
  await page.waitForURL('**/home/skill')
  await page.goto('/setting/factor')
  await page.getByRole('button', { name: 'パスキーを追加' }).click()
  await touch(async () => {
    await confirm(page, '次へ')
    await expect(page.getByText('パスキーを追加しました。')).toBeVisible()
  })

  // The authenticator answers the offer of the page at once, as a user who chooses the suggestion.
  await signOut(page, invited.name)
  await touch(async () => {
    await page.goto('/login')
    await page.waitForURL('**/home/skill')
  })
  await signOut(page, invited.name)
  await touch(async () => {
    await page.goto('/login/super-admin')
    await expect(page.getByText('この画面からログインできるのは、組織の特権管理者だけです。')).toBeVisible()
  })
  await expect(page.getByLabel('メールアドレス')).toHaveAttribute('autocomplete', 'username webauthn')
  await reviewed(page)

  // The button and the next step end the offer: with one, the browser refuses other requests.
  const ways = [
    () => withPasskey(page).click(),
    async () => {
      await page.getByLabel('メールアドレス').fill(invited.email)
      await page.getByRole('button', { name: '次へ' }).click()
    },
  ]
  await watchOffers(page)
  for (const end of ways) {
    await page.goto('/login')
    await expect.poll(() => offerOf(page)).toBe('made')
    await end()
    await expect.poll(() => offerOf(page)).toBe('ended')
  }
  await page.getByLabel('パスワード', { exact: true }).fill(chosen)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
})

test('a passkey is the second factor that the policy requires, and confirms changes', async ({
  page,
  server,
  signIn,
}) => {
  const invited = await invite(server, await signIn('admin'), 'organization-super-admin')
  const { email, name } = invited
  const touch = await addAuthenticator(page)
  await join(page, invited)
  await page.waitForURL('**/home/skill')
  await page.goto('/setting/factor')
  await page.getByRole('button', { name: 'パスキーを追加' }).click()
  await touch(async () => {
    await confirm(page, '次へ')
    await expect(page.getByText('パスキーを追加しました。')).toBeVisible()
  })
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
  await touch(async () => {
    await withPasskey(page).click()
    await expect(page.getByText('二段階認証の設定を変更しました。')).toBeVisible()
  })
  await expect(confirmation).toBeHidden()

  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(page.getByRole('heading', { level: 1, name: '二段階認証' })).toBeVisible()
  await reviewed(page)
  await page.getByRole('button', { name: 'パスキーを使えないときは、回復コードを使う' }).click()
  await expect(page.getByLabel('回復コード')).toBeFocused()
  await page.getByRole('button', { name: 'パスキーを使う' }).click()
  await touch(async () => {
    await withPasskey(page).click()
    await page.waitForURL('**/home/skill')
  })
  await signOut(page, name)
  await enter(page, email, chosen)
  await page.getByRole('button', { name: 'パスキーを使えないときは、回復コードを使う' }).click()
  await page.getByLabel('回復コード').fill(first)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/skill')
})

test('a passkey is set up at a sign-in that requires it, and signs in a super-admin', async ({
  page,
  server,
  signIn,
}) => {
  const invited = await invite(server, await signIn('admin'), 'organization-super-admin')
  const { email, name } = invited
  const touch = await addAuthenticator(page)
  // The policy of the test before requires a second factor.
  await withoutAutofill(page)
  await join(page, invited)
  await expect(page.getByRole('heading', { level: 1, name: '二段階認証の設定' })).toBeVisible()
  await reviewed(page)
  await page.getByRole('button', { name: '認証アプリを登録' }).click()
  await secretOf(page)
  await reviewed(page)
  await page.getByRole('button', { name: 'パスキーを登録する' }).click()
  await touch(async () => {
    await page.getByRole('button', { name: 'パスキーを登録', exact: true }).click()
    await expect(page.getByRole('region', { name: '回復コード' }).getByRole('listitem')).toHaveCount(10)
  })
  await reviewed(page)
  await page.getByRole('button', { name: '保管したので、続ける' }).click()
  await page.waitForURL('**/home/skill')
  await page.goto('/setting/factor')
  await expect(page.getByText('未使用の回復コードは10個です。')).toBeVisible()

  await signOut(page, name)
  await page.goto('/login/super-admin')
  await touch(async () => {
    await withPasskey(page).click()
    await page.waitForURL('**/home/skill')
  })
  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(withPasskey(page)).toBeFocused()
})

test('a trusted browser is not asked for a code', async ({ page, server, signIn }) => {
  const invited = await invite(server, await signIn('admin'))
  const { email, name } = invited
  // The policy of the tests before requires a second factor.
  await join(page, invited)
  await page.getByRole('button', { name: '認証アプリを登録' }).click()
  const secret = await secretOf(page)
  await page.getByLabel('確認コード').fill(codeOf(secret))
  await page.getByRole('button', { name: '登録してログイン' }).click()
  await page.getByRole('button', { name: '保管したので、続ける' }).click()
  await page.waitForURL('**/home/skill')

  await signOut(page, name)
  await enter(page, email, chosen)
  await page.getByLabel('確認コード').fill(codeOf(secret, 1)) // The current code was used by the setup.
  await page.getByLabel(/この端末を30日間信頼する/).check()
  await reviewed(page)
  await page.getByRole('button', { name: 'ログイン', exact: true }).click()
  await page.waitForURL('**/home/skill')
  await signOut(page, name)
  await enter(page, email, chosen)
  await page.waitForURL('**/home/skill')

  await page.goto('/setting/factor')
  const devices = page.getByRole('region', { name: '信頼した端末' })
  await expect(devices.getByRole('listitem')).toContainText([/Chrome.*今日/])
  await reviewed(page)
  await devices.getByRole('button', { name: /信頼を解除$/ }).click()
  await expect(devices.getByText('信頼した端末はありません。')).toBeVisible()
  await signOut(page, name)
  await enter(page, email, chosen)
  await expect(page.getByLabel('確認コード')).toBeFocused()
})
