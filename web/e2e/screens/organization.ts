import { Child } from '../support/child'
import { secretOf } from '../support/factor'
import { expect, testOn } from '../support/test'
import { password, Tsumugi } from '../support/tsumugi'
import * as sample from './sample'
import { at, shoot } from './shoot'

const test = testOn('organization', (model) => Tsumugi.start(model, { TSUMUGI_IDENTITY_HOSTS: '127.0.0.1' }))

test.use({ who: 'admin' })

interface Named {
  readonly id: string
}

test('a group', async ({ page, account }) => {
  const users = sample.people.map(([email, name, role]) => ({ email: `${email}@demo.example`, name, role }))
  await account.call('POST', '/v1/user/invite', { users })
  const made = {
    request_id: crypto.randomUUID(),
    name: '営業部',
    description: '東京本社と大阪支社の営業担当です。',
    token_limit: 500_000,
  }
  const { id } = (await (await account.call('POST', '/v1/group', made)).json()) as Named
  const emails = users.slice(0, 5).map(({ email }) => email)
  await account.call('PUT', `/v1/group/${id}/member`, { add_emails: emails })
  await shoot(page, { name: 'admin-group', open: at(`/admin/group/${id}`, made.name) })
})

test('a shared chat of a project, with a question that waits', async ({
  page,
  account,
  chat,
  model,
  pageAs,
  signIn,
}) => {
  const member = await signIn('user')
  const { id: colleague } = (await (await member.call('GET', '/v1/me')).json()) as Named
  const { id: self } = (await (await account.call('GET', '/v1/me')).json()) as Named
  const draft = {
    request_id: crypto.randomUUID(),
    name: '新製品の発売準備',
    description: '春に発売する新製品の準備です。',
  }
  const { id } = (await (await account.call('POST', '/v1/project', draft)).json()) as Named
  await account.call('PUT', `/v1/project/${id}/grant`, {
    version: 1,
    grants: [
      { subject: { kind: 'user', id: self }, role: 'manager' },
      { subject: { kind: 'user', id: colleague }, role: 'editor' },
    ],
  })
  model.script(sample.question, { text: sample.answer, title: '研修費の部署別の負担' })
  model.script(sample.follow, { chars: 3000, seed: 3, tokens_per_second: 4 })
  await at(`/home/project/${id}`, draft.name)(page)
  await page.getByRole('main').getByRole('button', { name: '共有チャットを始める' }).click()
  await chat.ask(sample.question)
  await chat.finished()
  const theirs = await pageAs(member)
  await theirs.goto(`/chat/${await chat.threadId()}`)
  await chat.in(theirs).ask(sample.follow)
  await expect(chat.answer).toHaveAttribute('aria-busy', 'true')
  await chat.composer.fill('端数が出たときの扱いも教えてください。')
  await chat.composer.press('Enter')
  const waiting = page.getByRole('region', { name: '順番を待っている質問' })
  await shoot(page, { name: 'project-chat', only: 'wide', open: () => expect(waiting).toBeVisible() })
})

test('single sign-on, provisioning and a second factor', async ({ page, account }) => {
  const config = (await (await account.call('GET', '/v1/oidc-config')).json()) as Record<string, string>
  const program = new URL('../support/openidProvider.mjs', import.meta.url).pathname
  const provider = new Child(process.execPath, [program, config.redirect_url ?? '', config.logout_url ?? ''])
  const [, issuer = ''] = await provider.says(/issuer (http:\S+)/)
  await account.call('PUT', '/v1/oidc-config', {
    issuer,
    client_id: 'tsumugi',
    client_secret: 'secret of the client',
    groups_claim: 'groups',
  })
  await shoot(page, {
    name: 'admin-oidc',
    open: async () => {
      await page.goto('/admin/saml/oidc')
      await page.getByRole('button', { name: '接続テスト' }).click()
      await expect(page.getByRole('status', { name: '接続テストの結果' }).getByText('問題なし')).toHaveCount(
        3,
      )
    },
  })
  await provider.end()

  const { token } = (await (
    await account.call('POST', '/v1/scim-config/token', { name: 'Entra ID' })
  ).json()) as {
    token: string
  }
  const { base_url } = (await (await account.call('GET', '/v1/scim-config')).json()) as { base_url: string }
  const provision = (email: string, name: string) =>
    fetch(`${base_url}/Users`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/scim+json' },
      body: JSON.stringify({
        schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
        externalId: email,
        userName: email,
        displayName: name,
        emails: [{ type: 'work', value: email, primary: true }],
        active: true,
      }),
    })
  for (const email of [
    'nakamura.aya@demo.example',
    'yoshida.takuya@demo.example',
    'nakamura.aya@demo.example',
  ])
    await provision(email, email.startsWith('n') ? '中村 彩' : '吉田 拓也')
  await shoot(page, {
    name: 'admin-scim',
    open: async () => {
      await at('/admin/scim', 'ユーザープロビジョニング（SCIM）')(page)
      await expect(page.getByRole('table', { name: '最近の呼び出し' })).toContainText('エラー（409）')
    },
  })
  await shoot(page, {
    name: 'setting-factor',
    open: async () => {
      await page.goto('/setting/factor')
      await page.getByRole('button', { name: '認証アプリを登録' }).click()
      await page.getByLabel('現在のパスワード', { exact: true }).fill(password)
      await page.getByRole('button', { name: '次へ' }).click()
      await secretOf(page)
    },
  })
})
