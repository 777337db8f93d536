import { expect } from '@playwright/test'
import { choose, lineOf, open, test } from './support/admin'
import { inspect } from './support/inspect'

test.use({ who: 'admin' })

test('a member sees their limit, is stopped by it, and continues after it is lifted', async ({
  page,
  pageAs,
  signIn,
  chat,
}) => {
  const user = await signIn('user')
  const thread = await user.newThread('汎用チャット')
  await user.ask(thread.id, '利用量を数えてください。')
  await open(page, '/admin/organization/member', 'メンバー')
  await expect(page.getByText('1人あたりの月の上限：制限なし')).toBeVisible()
  await page.getByRole('button', { name: '変更', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: '1人あたりの月の上限' })
  await dialog.getByLabel('上限', { exact: true }).selectOption('上限を決める')
  await dialog.getByLabel('1人あたりのトークン数').fill('たくさん')
  await dialog.getByRole('button', { name: '保存する' }).click()
  await expect(dialog.getByText('1以上1,000,000,000,000以下の数を入力してください。')).toBeVisible()
  await dialog.getByLabel('1人あたりのトークン数').fill('５０，０００')
  await dialog.getByRole('button', { name: '保存する' }).click()
  await expect(page.getByText('1人あたりの月の上限：50,000トークン')).toBeVisible()
  await expect(lineOf(page, 'user@demo.example')).toContainText('/ 50,000')

  // An exception for one member, which is used up already.
  await choose(page, 'user@demo.example', '編集')
  const editing = page.getByRole('dialog', { name: /さんの編集$/ })
  await expect(editing.getByLabel('月の上限')).toHaveValue('default')
  await editing.getByLabel('月の上限').selectOption('この人の上限を決める')
  await editing.getByLabel('この人のトークン数').fill('1')
  await editing.getByRole('button', { name: '保存する' }).click()
  await expect(editing).toBeHidden()
  await expect(lineOf(page, 'user@demo.example').getByRole('meter')).toHaveAttribute('aria-valuenow', '100')

  const member = await pageAs(user)
  await member.goto(`/chat/${thread.id}`)
  const conversation = chat.in(member)
  await expect(async () => {
    // Servers read a changed limit after a few seconds.
    await conversation.ask('上限を超える質問です。')
    await expect(member.getByText(/上限（1トークン）に達したため/).first()).toBeVisible({ timeout: 5000 })
  }).toPass()
  await expect(member.getByRole('button', { name: /お知らせ、未読\d+件/ })).toBeVisible()
  await member.getByRole('button', { name: /さんのメニュー$/ }).click()
  await expect(member.getByRole('meter', { name: '今月のトークン' })).toHaveAttribute('aria-valuenow', '100')
  await expect(member.getByText('上限に達しています。')).toBeVisible()
  await member.keyboard.press('Escape')

  await choose(page, 'user@demo.example', '編集')
  await editing.getByLabel('月の上限').selectOption('制限なし')
  await editing.getByRole('button', { name: '保存する' }).click()
  await expect(editing).toBeHidden()
  await expect(async () => {
    expect((await user.ask((await user.newThread('汎用チャット')).id, '続きの質問です。')).status).toBe(
      'success',
    )
  }).toPass()

  await inspect(page, {
    name: "a member's limit",
    open: async (at) => {
      await open(at, '/admin/organization/member', 'メンバー')
      await choose(at, 'user@demo.example', '編集')
      await expect(at.getByRole('dialog', { name: /さんの編集$/ })).toBeVisible()
    },
  })
})
