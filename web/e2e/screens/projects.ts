import { expect, test } from '../support/test'
import * as sample from './sample'
import { at, shoot } from './shoot'

test('projects', async ({ page, account, signIn }) => {
  const [admin, owner] = [await signIn('admin'), await (await account.call('GET', '/v1/me')).json()]
  const editor = await (await admin.call('GET', '/v1/me')).json()
  const draft = {
    name: '新製品の発売準備',
    description: '春に発売する新製品の準備です。企画部と営業部で使います。',
  }
  const created = await account.call('POST', '/v1/project', { request_id: crypto.randomUUID(), ...draft })
  const { id } = (await created.json()) as { id: string }
  const grants = { [owner.id]: 'manager', [editor.id]: 'editor' }
  await account.call('PUT', `/v1/project/${id}/grant`, {
    version: 1,
    grants: Object.entries(grants).map(([id, role]) => ({ subject: { kind: 'user', id }, role })),
  })
  await at(`/home/project/${id}/file`, draft.name)(page)
  const payload = sample.files.map(([name, content]) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(content),
  }))
  await page.locator('input[type=file]').first().setInputFiles(payload)
  await expect(page.getByText('アップロードが終わりました。')).toBeVisible()
  await expect(page.getByRole('main').getByRole('checkbox')).toHaveCount(payload.length)
  await expect(page.getByText(/^(待機中|読み取り中|索引を作成中)/)).toHaveCount(0)
  const rule = '金額は税抜きで答えてください。'
  let version = 2
  const instruct = (first: string) =>
    account.call('PUT', `/v1/project/${id}`, {
      ...draft,
      version: version++,
      instructions: `${first}\n${rule}`,
    })
  await instruct('根拠にしたファイルの名前を書いてください。')
  await shoot(page, {
    name: 'project-files',
    open: async () => {
      await at(`/home/project/${id}/file`, draft.name)(page)
      await expect(page.getByRole('main').getByRole('checkbox')).toHaveCount(payload.length)
    },
  })
  await shoot(page, { name: 'project-members', open: at(`/home/project/${id}/member`, draft.name) })
  await shoot(page, { name: 'projects', open: at('/home/project', 'プロジェクト') })
  await shoot(page, {
    name: 'project-conflict',
    open: async () => {
      await at(`/home/project/${id}/instructions`, draft.name)(page)
      await page
        .getByRole('textbox', { name: '指示' })
        .fill(`根拠にしたファイルの名前とページを書いてください。\n${rule}`)
      await instruct(`根拠にしたファイルの名前と日付を書いてください（第${version}版）。`)
      await page.getByRole('button', { name: '保存する' }).click()
      await expect(page.getByRole('button', { name: 'この内容で保存する' })).toBeVisible()
    },
  })
  await page.getByRole('button', { name: '自分の変更をやめる' }).click()
})
