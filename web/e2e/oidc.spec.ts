import { Child } from './support/child'
import { breaches } from './support/inspect'
import { readToken } from './support/people'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'
import { watch } from './support/watch'

interface OidcConfig {
  readonly redirect_url: string
  readonly logout_url: string
}

/** The organization of this server switches to single sign-on: no other test uses it. */
const test = testOn('oidc', () => Tsumugi.start(null, { TSUMUGI_IDENTITY_HOSTS: '127.0.0.1' }))

test.use({ who: 'admin' })

test('an administrator sets OpenID Connect up, a member signs in, and the provider signs them out', async ({
  page,
  browser,
  server,
  signIn,
}) => {
  const admin = await signIn('admin')
  const config = (await (await admin.call('GET', '/v1/oidc-config')).json()) as OidcConfig
  const program = new URL('./support/openidProvider.mjs', import.meta.url).pathname
  const provider = new Child(process.execPath, [program, config.redirect_url, config.logout_url])
  try {
    const [, issuer = ''] = await provider.says(/issuer (http:\S+)/)
    await test.step('the settings', async () => {
      await page.goto('/admin/saml')
      await page.getByRole('link', { name: 'OpenID Connect' }).click()
      const redirect = page.getByText(config.redirect_url)
      await expect(redirect).toBeVisible()
      const size = page.viewportSize() ?? { width: 1280, height: 720 }
      await page.setViewportSize({ width: 390, height: 844 })
      expect((await redirect.boundingBox())?.height, 'the address is on one line').toBeLessThan(40)
      expect(await breaches(page), 'the settings on a phone').toEqual([])
      await page.setViewportSize(size)
      await expect(page.getByLabel('二段階認証が必要なメンバー')).toBeVisible()
      await page.getByRole('link', { name: '設定を編集' }).click()
      await page.getByLabel('クライアントID').fill('tsumugi')
      await page.getByLabel('クライアントシークレット', { exact: false }).fill('wrong')
      await page.getByLabel('グループのクレーム').fill('groups')
      await page.getByLabel('発行者（Issuer）').fill(`${issuer}/`)
      await page.getByRole('button', { name: '保存する' }).click()
      await expect(page.getByText('設定した発行者と一致しません')).toBeVisible()
      await page.getByLabel('発行者（Issuer）').fill(issuer)
      expect(await breaches(page), 'the form').toEqual([])
      await page.getByRole('button', { name: '保存する' }).click()
      await page.waitForURL('**/admin/saml/oidc')
    })
    await test.step('the connection test', async () => {
      const results = page.getByRole('status', { name: '接続テストの結果' })
      await page.getByRole('button', { name: '接続テスト' }).click()
      await expect(results.getByText('IDプロバイダーが受け付けません')).toBeVisible()
      await admin.call('PUT', '/v1/oidc-config', { client_secret: 'secret of the client' })
      await page.getByRole('button', { name: '接続テスト' }).click()
      await expect(results.getByText('問題なし')).toHaveCount(3)
      expect(await breaches(page), 'the page').toEqual([])
    })
    await test.step('switching on', async () => {
      await page.getByRole('button', { name: 'オンにする' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'オンにする' }).click()
      await expect(page.getByText('シングルサインオンをオンにしました。')).toBeVisible()
      await expect(page.getByText('使用中')).toBeVisible()
    })
    const context = await browser.newContext({
      baseURL: server.url,
      storageState: { cookies: [], origins: [] },
    })
    const troubles = await watch(context)
    const hers = await context.newPage()
    await test.step('a member signs in', async () => {
      await hers.goto('/login')
      await hers.getByLabel('メールアドレス').fill('hanako@demo.example')
      await hers.getByRole('button', { name: '次へ' }).click()
      await hers.waitForURL(`${issuer}/**`)
      await hers.locator('[name=login]').fill('hanako')
      await hers.locator('[name=password]').fill('any')
      await hers.getByRole('button', { name: 'Sign-in' }).click()
      await hers.getByRole('button', { name: 'Continue' }).click()
      await hers.waitForURL(`${server.url}/home/skill`)
      await expect(hers.getByRole('heading', { level: 1 })).toContainText('佐藤 花子さん')
      expect(await readToken(hers)).toMatchObject({ authType: 'federated_idp', tokenType: 'Bearer' })
      expect(troubles).toEqual([])
    })
    await test.step('her group', async () => {
      await page.goto('/admin/group')
      await expect(page.getByRole('row').filter({ hasText: '営業部' })).toContainText('シングルサインオン')
    })
    await test.step('the provider signs her out', async () => {
      const away = await context.newPage()
      await away.goto(`${issuer}/session/end`)
      await away.getByRole('button', { name: 'Yes, sign me out' }).click()
      await hers.waitForURL('**/login**')
      expect(await readToken(hers)).toBeNull()
    })
    await context.close()
  } finally {
    await provider.end()
  }
})
