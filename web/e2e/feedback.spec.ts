import { readFile } from 'node:fs/promises'
import type { Locator, Page } from '@playwright/test'
import type { Account } from './support/account'
import { heading, open, test } from './support/admin'
import { inspect } from './support/inspect'
import { expect } from './support/test'

test.use({ who: 'admin' })

/** Rates the last answer of a thread as bad. */
async function rateBad(member: Page, comment: string, withText: boolean): Promise<Locator> {
  await member.getByRole('button', { name: '良くない回答' }).last().click()
  const dialog = member.getByRole('dialog', { name: '良くなかった点を教えてください' })
  await dialog.getByRole('textbox', { name: 'コメント' }).fill(comment)
  const choice = dialog.getByRole('checkbox', { name: /^質問と回答の内容も管理者に送る/ })
  await expect(choice).not.toBeChecked()
  if (withText) await choice.check()
  await dialog.getByRole('button', { name: '送信' }).click()
  const toast = member.getByRole('status').filter({ hasText: '評価を送信しました。' })
  await expect(toast).toBeVisible()
  await expectOverComposer(toast, member)
  return choice
}

/** Checks that a toast is above the composer, in the middle of the page. */
async function expectOverComposer(toast: Locator, page: Page): Promise<void> {
  const boxes = [toast, page.getByRole('textbox', { name: '質問' }), page.getByRole('main')]
  const [box, composer, main] = await Promise.all(boxes.map((item) => item.boundingBox()))
  if (!box || !composer || !main) throw new Error('not shown')
  expect(box.y + box.height).toBeLessThan(composer.y)
  expect(box.y).toBeGreaterThan(composer.y - 120)
  expect(Math.abs(box.x + box.width / 2 - main.x - main.width / 2)).toBeLessThan(2)
}

async function asked(account: Account, skill: string, question: string): Promise<string> {
  const thread = await account.newThread(skill)
  await account.ask(thread.id, question)
  return thread.id
}

test('administrators see ratings without names, and the text of users who send it, until withdrawn', async ({
  page,
  model,
  pageAs,
  signIn,
}) => {
  const user = await signIn('user')
  model.script('締め切りを教えてください。', { text: '締め切りは**月末**です。' })
  const plain = await asked(user, '汎用チャット', '名前を出さない質問です。')
  const sent = await asked(user, '汎用チャット', '締め切りを教えてください。')
  const member = await pageAs(user)
  await member.goto(`/chat/${plain}`)
  await rateBad(member, '=答えが違います', false)
  await member.goto(`/chat/${sent}`)
  await rateBad(member, '社内の規則と違います', true)

  await open(page, '/admin/contract', '契約')
  await page.getByRole('link', { name: '評価' }).click()
  await heading(page, '回答の評価')
  const skills = page.getByRole('table', { name: 'スキル別の評価' })
  await expect(skills.getByRole('row', { name: /^合計/ })).toContainText('0%')
  await expect(skills.getByRole('row', { name: /^汎用チャット/ })).toBeVisible()
  const list = page.getByRole('table', { name: '評価の一覧' })
  const line = (text: string) => list.getByRole('row').filter({ hasText: text })
  await expect(line('=答えが違います')).not.toContainText('さん')
  await expect(line('=答えが違います').getByRole('button')).toHaveCount(0)
  await line('社内の規則').getByRole('button', { name: /読む$/ }).click()
  const drawer = page.getByRole('dialog', { name: '送られた質問と回答' })
  await expect(drawer).toContainText('締め切りを教えてください。')
  await expect(drawer.locator('strong', { hasText: '月末' })).toBeVisible()
  await inspect(page, { name: 'the drawer', open: async () => {} })
  await page.setViewportSize({ width: 1280, height: 800 })
  await drawer.getByRole('button', { name: '閉じる' }).click()

  // The filters are in the URL.
  await page.getByLabel('コメントを検索').fill('規則')
  await expect(line('=答えが違います')).toHaveCount(0)
  await expect(page).toHaveURL(/q=/)
  await page.getByRole('combobox', { name: '評価' }).selectOption('良い')
  await expect(page.getByText('条件に合う評価はありません。')).toBeVisible()
  await page.getByRole('button', { name: '絞り込みを解除' }).click()
  await expect(list.getByRole('row')).toHaveCount(3)
  await open(page, '/admin/feedback?rating=bad', '回答の評価')
  await expect(list.getByRole('row')).toHaveCount(3)

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSVで保存' }).click(),
  ])
  const csv = await readFile(await file.path(), 'utf8')
  expect(csv).toContain('汎用チャット')
  expect(csv).toContain("'=答えが違います,なし")
  expect(csv).toContain('社内の規則と違います,あり')
  expect(csv).not.toContain('月末')

  // Withdrawn while the list is open.
  await member.getByRole('button', { name: '良くない回答' }).last().click()
  const dialog = member.getByRole('dialog', { name: '良くなかった点を教えてください' })
  await expect(dialog.getByRole('checkbox', { name: /^質問と回答/ })).toBeChecked()
  await dialog.getByRole('button', { name: '評価を取り消す' }).click()
  await expect(member.getByRole('button', { name: '良くない回答' }).last()).toHaveAttribute(
    'aria-pressed',
    'false',
  )
  await line('社内の規則').getByRole('button', { name: /読む$/ }).click()
  await expect(drawer).toContainText('この評価は取り消されたか')
  await drawer.getByRole('button', { name: '閉じる' }).click()
  await user.call('DELETE', `/v1/thread/${plain}`)
  await open(page, '/admin/feedback', '回答の評価')
  await expect(page.getByText('評価はまだありません。')).toBeVisible()
  await expect(page.getByText('この期間の評価はありません。')).toBeVisible()
})

test('the dialog shows the data to send, and both screens are accessible', async ({
  page,
  pageAs,
  signIn,
}) => {
  const user = await signIn('user')
  const thread = await asked(user, '汎用チャット', '画面を確かめる質問です。')
  const member = await pageAs(user)
  await member.goto(`/chat/${thread}`)
  await rateBad(member, '短いコメント', true)
  await inspect(member, {
    name: 'the dialog',
    open: async (at) => {
      await at.goto(`/chat/${thread}`)
      await at.getByRole('button', { name: '良くない回答' }).last().click()
      await expect(at.getByText('あなたの名前を添えて')).toBeVisible()
    },
  })
  await inspect(page, { name: '/admin/feedback', open: (at) => open(at, '/admin/feedback', '回答の評価') })
})
