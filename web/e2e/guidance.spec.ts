import { expect } from '@playwright/test'
import { open, test } from './support/admin'
import { plainSkill } from './support/chat'
import { inspect } from './support/inspect'

test.use({ who: 'admin' })

test('instructions of the organization and the user are sent with questions, and can be seen before', async ({
  page,
  model,
  pageAs,
  signIn,
  chat,
  question,
}) => {
  await open(page, '/admin/contract', '契約')
  await page.getByRole('link', { name: '組織の指示' }).click()
  const field = page.getByRole('textbox', { name: '指示' })
  const save = page.getByRole('button', { name: '保存する', exact: true })
  await expect(save).toBeDisabled()
  await field.fill('社外に出す文書では、正式名称を使う。')
  // Leaving asks first.
  await page.getByRole('link', { name: 'メンバー' }).click()
  await page.getByRole('button', { name: 'このページに残る' }).click()
  await save.click()
  await expect(page.getByText('組織の指示を保存しました。')).toBeVisible()
  await inspect(page, {
    name: '/admin/instructions',
    open: (at) => open(at, '/admin/instructions', '組織の指示'),
  })

  const user = await signIn('user')
  const member = await pageAs(user)
  await member.goto('/setting/about')
  await member.getByRole('textbox', { name: '呼び名' }).fill('田中さん')
  await member.getByRole('textbox', { name: '回答の文体' }).fill('結論から')
  await member.getByRole('textbox', { name: '署名' }).fill('あ'.repeat(501))
  await member.getByRole('button', { name: '保存する' }).click()
  await expect(member.getByText('500文字以内で入力してください。')).toBeVisible()
  await member.getByRole('textbox', { name: '署名' }).fill('紡株式会社\n田中')
  await member.getByRole('button', { name: '保存する' }).click()
  await expect(member.getByText('保存しました。次の質問から使われます。')).toBeVisible()
  await inspect(member, {
    name: '/setting/about',
    open: async (at) => {
      await at.goto('/setting/about')
      await expect(at.getByRole('textbox', { name: '署名' })).toHaveValue('紡株式会社\n田中')
    },
  })

  await member.setViewportSize({ width: 1440, height: 900 })
  const thread = await user.newThread(plainSkill, '指示を確かめる')
  await member.goto(`/chat/${thread.id}`)
  await member.getByRole('button', { name: '組織の指示と「回答のカスタマイズ」も一緒に送ります' }).click()
  const dialog = member.getByRole('dialog', { name: '質問と一緒に送る内容' })
  await expect(dialog).toContainText('社外に出す文書では、正式名称を使う。')
  await expect(dialog).toContainText('呼び名：田中さん')
  await dialog.getByRole('button', { name: '閉じる' }).click()
  const conversation = chat.in(member)
  await conversation.ask(question)
  await conversation.finished()
  const told = model.instructions(question)
  expect(told).toContain('<organization>\n社外に出す文書では、正式名称を使う。\n</organization>')
  expect(told).toContain('<person>\n呼び名: 田中さん\n文体: 結論から\n署名:\n紡株式会社\n田中\n</person>')
})
