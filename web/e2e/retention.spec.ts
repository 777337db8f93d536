import { expect } from '@playwright/test'
import type { components } from '../src/lib/api/schema.gen'
import { open, test } from './support/admin'
import { inspect } from './support/inspect'

type Schemas = components['schemas']

test.use({ who: 'admin' })

test('an administrator sets the retention of threads, and sees its effect', async ({ page, signIn }) => {
  await (await signIn('user')).newThread('汎用チャット', '新しいチャット')
  await open(page, '/admin/contract', '契約')
  await page.getByRole('link', { name: 'チャットの保存期間' }).click()
  const save = page.getByRole('button', { name: '保存する' })
  await expect(save).toBeDisabled()
  await page.getByLabel('自動削除').selectOption('保存期間を過ぎたチャットを削除する')
  await page.getByLabel('保存期間（日）').fill('7')
  await save.click()
  await expect(page.getByText('30以上3,650以下の数を入力してください。')).toBeVisible()
  await page.getByLabel('保存期間（日）').fill('９０')
  await expect(page.getByText('現在、対象のチャットはありません。')).toBeVisible()
  // Leaving asks first.
  await page.getByRole('link', { name: 'メンバー' }).click()
  await page.getByRole('button', { name: 'このページに残る' }).click()
  await save.click()
  const dialog = page.getByRole('dialog', { name: '90日を過ぎたチャットを削除しますか？' })
  await dialog.getByRole('button', { name: 'キャンセル' }).click()
  await save.click()
  await dialog.getByRole('button', { name: '削除を有効にする' }).click()
  await expect(page.getByText('保存期間を変更しました。')).toBeVisible()
  await expect(save).toBeDisabled()
  await inspect(page, {
    name: '/admin/retention',
    open: (at) => open(at, '/admin/retention', 'チャットの保存期間'),
  })
  await open(page, '/admin/retention', 'チャットの保存期間')
  await page.getByLabel('自動削除').selectOption('削除しない')
  await save.click()
  await expect(page.getByText('自動削除をやめました。')).toBeVisible()
  await open(page, '/admin/audit', '監査ログ')
  await expect(page.getByText('保存期間（日）：90 → なし')).toBeVisible()
  await expect(page.getByText('保存期間（日）：なし → 90')).toBeVisible()
})

// The list of threads that will be deleted is faked, because it needs weeks to pass. Keeping them is real.
test('a member sees which threads will be deleted, and keeps them', async ({ pageAs, signIn }) => {
  const user = await signIn('user')
  const threads = [
    await user.newThread('汎用チャット', '四半期の報告'),
    await user.newThread('汎用チャット', '採用面接の質問案を作る長い題名のチャット'),
    await user.newThread('汎用チャット', '議事録の下書き'),
  ]
  const touched = new Set<string>()
  const deletesAt = new Date(Date.now() + 14 * 86_400_000).toISOString()
  const leaving = () => threads.filter(({ id }) => !touched.has(id))
  const page = await pageAs(user)
  page.on('request', (request) => {
    const id = /\/v1\/thread\/([^/]+)\/touch$/.exec(new URL(request.url()).pathname)?.[1]
    if (id) touched.add(id)
  })
  await page.route('**/v1/retention', (route) => {
    const rest = leaving()
    const body: Schemas['Retention'] = {
      days: 365,
      leaving: { threads: rest.length, ...(rest.length > 0 && { first_at: deletesAt }) },
    }
    return route.fulfill({ json: body })
  })
  await page.route('**/v1/retention/thread?*', (route) => {
    const items = leaving().map((thread) => ({ thread, deletes_at: deletesAt }))
    return route.fulfill({ json: { items } })
  })

  await page.goto('/home/skill')
  await page.getByRole('link', { name: 'まもなく削除：3件' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'まもなく削除されるチャット' })).toBeVisible()
  await expect(page.getByText('最後の質問から365日が過ぎたチャットは')).toBeVisible()
  const list = page.getByRole('list', { name: 'まもなく削除されるチャット' })
  await expect(list.getByRole('listitem')).toHaveCount(3)
  await expect(list.getByText(/に削除$/).first()).toBeVisible()
  await inspect(page, {
    name: '/home/skill/leaving',
    open: async (at) => {
      await at.goto('/home/skill/leaving')
      await expect(at.getByRole('button', { name: '表示中の3件をすべて残す' })).toBeVisible()
    },
  })
  await page.setViewportSize({ width: 1280, height: 800 })
  const before = (await user.threads()).find(({ title }) => title === '四半期の報告')
  await list.getByRole('button', { name: /四半期の報告.*残す/ }).click()
  await expect(page.getByText('チャットを残しました。')).toBeVisible()
  await expect(list.getByRole('listitem')).toHaveCount(2)
  const after = (await user.threads())[0]
  expect(after?.title).toBe('四半期の報告')
  expect(Date.parse(after?.touched_at ?? '')).toBeGreaterThan(Date.parse(before?.touched_at ?? ''))
  await page.getByRole('button', { name: '表示中の2件をすべて残す' }).click()
  await expect(page.getByText('まもなく削除されるチャットはありません。')).toBeVisible()
  await expect(page.getByRole('link', { name: /^まもなく削除：/ })).toBeHidden()
})
