import { emails } from './support/account'
import { Idp } from './support/idp'
import { breaches } from './support/inspect'
import { fact } from './support/mail'
import { enter, newMail, readToken, requireSignIn } from './support/people'
import { expect, testOn } from './support/test'
import { password, Tsumugi } from './support/tsumugi'
import { watch } from './support/watch'

const hanako = { login: 'hanako', email: 'hanako@demo.example', name: '佐藤 花子' }
const outsider = { login: 'outsider', email: 'outsider@elsewhere.example', name: '他社 太郎' }

/** The organization of this server switches to single sign-on: no other test uses it. */
const test = testOn('saml', () => Tsumugi.start(null, { TSUMUGI_IDENTITY_HOSTS: '127.0.0.1' })).extend<{
  idp: Idp
}>({
  idp: [
    async ({ programs }, use) => use(await programs.get('saml idp', () => Idp.start([hanako, outsider]))),
    { timeout: 300_000 },
  ],
})

test.use({ who: 'admin' })

test('an administrator configures single sign-on, and members sign in with it', async ({
  page,
  browser,
  server,
  idp,
}) => {
  const fresh = async () => {
    const context = await browser.newContext({
      baseURL: server.url,
      storageState: { cookies: [], origins: [] },
    })
    const troubles = await watch(context)
    return { page: await context.newPage(), context, troubles }
  }
  await test.step('the settings', async () => {
    await page.goto('/admin/saml/edit')
    await page.getByRole('button', { name: 'URLで登録' }).click()
    await page.getByLabel('メタデータのURL').fill(`${idp.url}/nothing`)
    await page.getByLabel('メールアドレスの属性').fill(idp.attributes.email)
    await page.getByLabel('名前の属性').fill(idp.attributes.name)
    await page.getByLabel('demo.example', { exact: true }).check()
    await page.getByRole('button', { name: '保存する' }).click()
    await expect(
      page.getByText('メタデータを読み取れませんでした。URLへの応答は「404 Not Found」でした。'),
    ).toBeVisible()
    await page.getByLabel('メタデータのURL').fill(`${idp.url}/metadata`)
    await page.getByRole('button', { name: '保存する' }).click()
    await page.waitForURL('**/admin/saml')
    await expect(page.getByText(`${idp.url}/metadata`)).toHaveCount(2) // The entity id, and the URL.
    await expect(page.getByText(/^最後の読み込み .*（毎日更新）$/)).toBeVisible()
  })
  await test.step('a trial', async () => {
    await page.getByRole('button', { name: 'テストログイン' }).click()
    await idp.enter(page, hanako)
    await page.waitForURL('**/admin/saml?test=*')
    await expect(page.getByText('ログインできることを確認しました。')).toBeVisible()
    await expect(page.getByText(hanako.name).first()).toBeVisible()
  })
  await test.step('switching on', async () => {
    await page.getByRole('button', { name: 'オンにする' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'オンにする' }).click()
    await expect(page.getByText('シングルサインオンをオンにしました。')).toBeVisible()
  })
  await test.step('somebody signs in', async () => {
    const { page: hers, context, troubles } = await fresh()
    await hers.goto('/login')
    await hers.getByLabel('メールアドレス').fill(hanako.email)
    await hers.getByRole('button', { name: '次へ' }).click()
    await idp.enter(hers, hanako)
    await hers.waitForURL('**/home/skill')
    await expect(hers.getByRole('heading', { level: 1 })).toContainText(`${hanako.name}さん`)
    expect(await readToken(hers)).toMatchObject({ authType: 'federated_idp', tokenType: 'Bearer' })
    // The code is invalid the second time, and does not stay in the history.
    await hers.goBack()
    await expect(hers).not.toHaveURL(/code=/)
    // A new token needs a recent sign-in, which is in another window.
    await hers.goto('/setting/connections')
    await requireSignIn(hers, '**/v1/connection/token')
    const former = await readToken(hers)
    await hers.getByRole('button', { name: 'トークンを作成' }).click()
    await hers.getByLabel('名前').fill('集計')
    await hers.getByRole('button', { name: '作成する' }).click()
    const opened = context.waitForEvent('page')
    await hers
      .getByRole('dialog', { name: '本人確認' })
      .getByRole('button', { name: '組織の認証画面へ' })
      .click()
    await idp.enter(await opened, hanako)
    await expect(hers.getByRole('dialog', { name: '本人確認' })).toBeHidden()
    await expect(hers.getByText(/^tsk_/)).toBeVisible()
    const headers = { Authorization: `Bearer ${former?.idToken}` }
    await expect.poll(async () => (await context.request.get('/v1/me', { headers })).status()).toBe(401)
    expect(troubles.filter((trouble) => !trouble.includes('403'))).toEqual([])
    await context.close()
  })
  await test.step('somebody of another company is told why not', async () => {
    const { page: theirs, context } = await fresh()
    await theirs.goto('/login')
    await theirs.getByLabel('メールアドレス').fill(hanako.email)
    await theirs.getByRole('button', { name: '次へ' }).click()
    await idp.enter(theirs, outsider)
    await expect(theirs.getByText('組織から届いたメールアドレスを利用できません。')).toBeVisible()
    expect(await readToken(theirs)).toBeNull()
    await context.close()
  })
  await test.step('a super-admin gets in with a password', async () => {
    const { page: theirs, context } = await fresh()
    await theirs.goto('/login/super-admin')
    await theirs.getByLabel('メールアドレス').fill(emails.admin)
    await theirs.getByLabel('パスワード', { exact: true }).fill(password)
    await theirs.getByRole('button', { name: 'ログイン' }).click()
    await theirs.waitForURL('**/home/skill')
    await context.close()
  })
  await test.step('switched off, whoever it has added is invited to a password', async () => {
    await page.getByRole('button', { name: 'オフにする' }).click()
    const off = page.getByRole('dialog')
    await expect(off).toContainText('「パスワードの招待を送信」')
    await off.getByRole('button', { name: 'オフにする' }).click()
    await expect(page.getByText('シングルサインオンをオフにしました。')).toBeVisible()
    await page.getByRole('link', { name: 'メンバー' }).click()
    await page.getByRole('button', { name: `${hanako.name}さんの操作` }).click()
    await page.getByRole('menuitem', { name: 'パスワードの招待を送信' }).click()
    const asked = page.getByRole('dialog', { name: `${hanako.name}さんにパスワードの招待を送信しますか？` })
    expect(await breaches(page), 'the dialog').toEqual([])
    await asked.getByRole('button', { name: '送信する' }).click()
    await expect(page.getByText(`${hanako.name}さんにパスワードの招待を送信しました。`)).toBeVisible()
    await expect(page.getByRole('row').filter({ hasText: hanako.email })).toContainText('招待中')

    const temporary = fact(await newMail(server, hanako.email, 0), '仮パスワード')
    const { page: hers, context } = await fresh()
    await hers.goto('/login')
    await enter(hers, hanako.email, temporary)
    await hers.getByLabel('新しいパスワード', { exact: true }).fill(password)
    await hers.keyboard.press('Enter')
    await hers.waitForURL('**/home/skill')
    await expect(hers.getByRole('heading', { level: 1 })).toContainText(`${hanako.name}さん`)
    await context.close()
  })
})
