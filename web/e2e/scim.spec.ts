import SCIMMY from 'scimmy'
import { Account } from './support/account'
import { open, organization } from './support/admin'
import { inspect } from './support/inspect'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

/** The identity provider of this test adds members, so no other test uses the server. */
const test = testOn('scim', () => Tsumugi.start(null))

test.use({ who: 'admin' })

/** Returns a function that makes calls as the identity provider. */
function identityProvider(address: string, token: string) {
  return (method: string, path: string, body?: unknown) =>
    fetch(address + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/scim+json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
}

const title = 'ユーザープロビジョニング（SCIM）'

test('an administrator creates a token, sees the calls of the identity provider, and revokes the token', async ({
  page,
  server,
}) => {
  await open(page, '/admin/saml', 'シングルサインオン')
  await page
    .getByRole('navigation', { name: '管理者画面のメニュー' })
    .getByRole('link', { name: 'ユーザープロビジョニング' })
    .click()
  await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
  await expect(page.getByText('トークンはまだありません。')).toBeVisible()
  await expect(page.getByText('呼び出しはまだありません。')).toBeVisible()
  await page.getByRole('button', { name: 'アドレス（ベースURL）をコピー' }).click()
  const address = await page.evaluate(() => navigator.clipboard.readText())
  expect(address).toBe(`${server.url}/scim/v2`)

  const token = await test.step('a token is shown once', async () => {
    await page.getByRole('button', { name: 'トークンを作成' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: '作成する' }).click()
    await expect(dialog.getByText('名前を入力してください。')).toBeVisible()
    await dialog.getByLabel('名前').fill('Entra ID')
    await dialog.getByRole('button', { name: '作成する' }).click()
    await expect(dialog.locator('code')).toHaveText(/^tsumugi_scim_/)
    await dialog.getByRole('button', { name: 'コピー' }).click()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    await expect(dialog.locator('code')).toHaveText(copied)
    await dialog.getByText('閉じる', { exact: true }).click()
    await expect(page.getByText(copied)).toHaveCount(0)
    return copied
  })
  const tokens = page.getByRole('table', { name: 'トークン' })
  await expect(tokens.getByRole('row').filter({ hasText: 'Entra ID' })).toContainText('未使用')

  const call = identityProvider(address, token)
  const hanako = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    externalId: '0a21f0f2',
    userName: 'provisioned@demo.example',
    displayName: '山田 花子',
    emails: [{ type: 'work', value: 'provisioned@demo.example', primary: true }],
    active: true,
  }
  const added = await test.step('its calls are listed with the reasons of refusals', async () => {
    const created = await call('POST', '/Users', hanako)
    expect(created.status).toBe(201)
    expect((await call('POST', '/Users', hanako)).status).toBe(409)
    await page.reload()
    const calls = page.getByRole('table', { name: '最近の呼び出し' })
    const successful = calls.getByRole('row').filter({ hasText: '成功（201）' })
    await expect(successful).toContainText('POST /Users')
    await expect(successful).toContainText('provisioned@demo.example')
    const refused = calls.getByRole('row').filter({ hasText: 'エラー（409）' })
    await expect(refused).toContainText('uniqueness')
    await expect(refused).toContainText('すでに別の')
    await page.getByLabel('エラーだけを表示').check()
    await expect(successful).toHaveCount(0)
    await expect(refused).toBeVisible()
    await expect(tokens.getByRole('row').filter({ hasText: 'Entra ID' })).not.toContainText('未使用')
    return ((await created.json()) as { id: string }).id
  })

  await test.step('a group of the identity provider is not changed in the app', async () => {
    const group = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], displayName: '営業部' }
    const { id } = (await (
      await call('POST', '/Groups', { ...group, members: [{ value: added }] })
    ).json()) as {
      id: string
    }
    await open(page, `/admin/group/${id}`, '営業部')
    await expect(page.getByText('名前とメンバーは、組織のIDプロバイダーから設定されます')).toBeVisible()
    await expect(page.getByRole('row').filter({ hasText: '山田 花子' })).toBeVisible()
    await expect(page.getByRole('button', { name: /グループから外す|メンバーを追加/ })).toHaveCount(0)
    await page.getByRole('button', { name: '編集' }).click()
    await expect(page.getByLabel('グループ名')).toBeDisabled()
    await page.keyboard.press('Escape')
    await open(page, '/admin/scim', title)
  })

  await test.step('a revoked token is refused', async () => {
    await tokens.getByRole('button', { name: /「Entra ID」を\s*失効させる/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: '失効させる' }).click()
    await expect(page.getByText('トークンを失効させました。')).toBeVisible()
    await expect(page.getByText('トークンはまだありません。')).toBeVisible()
    expect((await call('GET', '/Users')).status).toBe(401)
  })

  await test.step('the audit log names the identity provider', async () => {
    await open(page, '/admin/audit', '監査ログ')
    const line = page.getByRole('row').filter({ hasText: 'IDプロバイダーによる追加' })
    await expect(line).toContainText('provisioned@demo.example')
    await expect(line).toContainText('IDプロバイダー（Entra ID）')
  })
})

test('the page of provisioning is accessible, on a phone too', async ({ page, signIn }) => {
  const admin = await signIn('admin')
  const answer = await admin.call('POST', '/v1/scim-config/token', { name: 'Okta' })
  const { token, record } = (await answer.json()) as { token: string; record: { id: string } }
  const { base_url } = (await (await admin.call('GET', '/v1/scim-config')).json()) as { base_url: string }
  const filter = encodeURIComponent(`userName eq "${'a-very-long-name'.repeat(8)}@demo.example"`)
  const call = identityProvider(base_url, token)
  for (const path of [`/Users?filter=${filter}`, '/Users?filter=salary%20gt%201']) await call('GET', path)
  await inspect(page, {
    name: '/admin/scim',
    open: async () => {
      await open(page, '/admin/scim', title)
      await expect(page.getByText('エラー（400）')).toBeVisible()
      await expect(page.getByText('GET /Users?filter=salary gt 1')).toBeVisible()
    },
  })
  await admin.call('DELETE', `/v1/scim-config/token/${record.id}`)
})

test('an administrator sees the tokens and the calls, but only super-admins change the tokens', async ({
  signIn,
  server,
  pageAs,
}) => {
  const admin = await signIn('admin')
  const answer = await admin.call('POST', '/v1/scim-config/token', { name: 'Keycloak' })
  const { record } = (await answer.json()) as { record: { id: string } }
  const email = 'office@demo.example'
  await server.addMember(organization, email, 'organization-admin')
  const page = await pageAs(await Account.signIn(server.url, email))
  await open(page, '/admin/scim', title)
  await expect(page.getByText('トークンを作成、失効できるのは特権管理者だけです。')).toBeVisible()
  await expect(page.getByRole('rowheader', { name: 'Keycloak' })).toBeVisible()
  await expect(page.getByRole('button', { name: /トークンを作成|失効させる/ })).toHaveCount(0)
  await admin.call('DELETE', `/v1/scim-config/token/${record.id}`)
})

test('the page of provisioning reports that its data could not be loaded', async ({ page }) => {
  await page.route('**/v1/scim-config*', (route) => route.fulfill({ status: 404, json: {} }))
  await open(page, '/admin/scim', title)
  const failed = page.getByRole('alert').filter({ hasText: '読み込みに失敗しました' })
  await expect(failed).toHaveCount(1)
  await page.unroute('**/v1/scim-config*')
  await failed.getByRole('button', { name: 'やり直す' }).click()
  await expect(failed).toHaveCount(0)
  await expect(page.getByText('/scim/v2')).toBeVisible()
})

interface Attribute {
  readonly name: string
  readonly type: string
  readonly multiValued: boolean
  readonly subAttributes?: readonly Attribute[]
}

interface Schema {
  readonly id: string
  readonly attributes: readonly Attribute[]
}

/** The types of attributes, by name. */
function typesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ name, type, multiValued, subAttributes = [] }) => [
      name,
      { type, multiValued, sub: typesOf(subAttributes) },
    ]),
  )
}

test('the schemas and the resources are those of SCIM as implemented by scimmy', async ({
  signIn,
  server,
}) => {
  const admin = await signIn('admin')
  const answer = await admin.call('POST', '/v1/scim-config/token', { name: 'scimmy' })
  const { token, record } = (await answer.json()) as { token: string; record: { id: string } }
  const provider = identityProvider(`${server.url}/scim/v2`, token)
  const call = async (...request: Parameters<typeof provider>) =>
    (await (await provider(...request)).json()) as Record<string, unknown>
  const { User, Group, EnterpriseUser } = SCIMMY.Schemas
  const known = JSON.parse(
    JSON.stringify([User, Group, EnterpriseUser].map(({ definition }) => definition.describe())),
  ) as Schema[]
  const listed = (await call('GET', '/Schemas')).Resources as Schema[]
  expect(listed.map(({ id }) => id)).toEqual(known.map(({ id }) => id))
  for (const [i, { id, attributes }] of listed.entries())
    expect(typesOf(known[i]?.attributes ?? []), id).toMatchObject(typesOf(attributes))

  // scimmy leaves out unknown attributes, and refuses wrong types.
  User.definition.extend(EnterpriseUser.definition)
  const user = await call('POST', '/Users', {
    schemas: [User.definition.id, EnterpriseUser.definition.id],
    externalId: 'scimmy-1',
    userName: 'scimmy@demo.example',
    name: { familyName: '佐藤', givenName: '健', formatted: '佐藤 健' },
    displayName: '佐藤 健',
    title: '主任',
    preferredLanguage: 'ja',
    active: 'True',
    emails: [{ type: 'work', value: 'scimmy@demo.example', primary: true }],
    phoneNumbers: [{ type: 'mobile', value: '090-0000-0000' }],
    addresses: [{ type: 'work', country: 'JP', locality: '千代田区' }],
    [EnterpriseUser.definition.id]: { department: '営業部', employeeNumber: '7' },
  })
  const group = await call('POST', '/Groups', {
    schemas: [Group.definition.id],
    displayName: 'scimmyのグループ',
    members: [{ value: user.id }],
  })
  for (const [Resource, resource] of [
    [User, user],
    [Group, group],
  ] as const) {
    const { meta, ...attributes } = JSON.parse(JSON.stringify(new Resource(resource, 'out')))
    expect({ ...resource, meta: null }).toEqual({ ...attributes, meta: null })
    expect(Object.keys(meta).sort()).toEqual(Object.keys(resource.meta as object).sort())
  }
  await admin.call('DELETE', `/v1/scim-config/token/${record.id}`)
})
