import { heading, open, test } from './support/admin'
import { breaches } from './support/inspect'
import { expect } from './support/test'

test.use({ who: 'admin' })

test('an administrator makes a group, adds members, offers a skill to it and deletes it', async ({
  page,
  pageAs,
  signIn,
}) => {
  await open(page, '/admin/group', 'グループ')
  await expect(page.getByText('グループはまだありません。')).toBeVisible()
  await page.getByRole('button', { name: 'グループを作成' }).click()
  const form = page.getByRole('dialog')
  await form.getByRole('button', { name: '作成する' }).click()
  await expect(form.getByText('グループ名を入力してください。')).toBeVisible()
  await form.getByRole('textbox', { name: 'グループ名' }).fill('営業部')
  await form.getByRole('textbox', { name: '説明' }).fill('東京本社と大阪支社の営業担当です。')
  await form.getByRole('textbox', { name: /月の上限/ }).fill('０')
  await form.getByRole('button', { name: '作成する' }).click()
  await expect(form.getByText('1以上の数を入力してください。')).toBeVisible()
  await form.getByRole('textbox', { name: /月の上限/ }).fill('500000')
  await form.getByRole('button', { name: '作成する' }).click()

  await heading(page, '営業部')
  await expect(page.getByText('500,000トークン')).toBeVisible()
  await page.getByRole('button', { name: 'メンバーを追加' }).click()
  const adding = page.getByRole('dialog')
  await adding.getByRole('textbox', { name: '名前またはメールアドレスで検索' }).fill('user@demo.example')
  await adding.getByRole('checkbox', { name: /user@demo/ }).check()
  await adding
    .getByRole('textbox', { name: /メールアドレスの一覧/ })
    .fill('admin@demo.example\nnobody@demo.example')
  expect(await breaches(page)).toEqual([])
  await adding.getByRole('button', { name: '3名を追加' }).click()
  await expect(adding.getByText('nobody@demo.example')).toBeVisible()
  await adding.getByRole('button', { name: '閉じる' }).filter({ hasText: '閉じる' }).click()
  await expect(adding).toHaveCount(0)
  await expect(page.getByRole('row')).toHaveCount(3)
  expect(await breaches(page)).toEqual([])

  // A member is removed, and added again.
  const line = page.getByRole('row').filter({ hasText: 'admin@demo.example' })
  await line.getByRole('button', { name: /グループから外す/ }).click()
  await expect(line).toHaveCount(0)
  await page.getByRole('button', { name: '元に戻す' }).click()
  await expect(line).toBeVisible()

  // A skill of the group is offered to its members only.
  await page.goto('/home/skill/new')
  await page.getByRole('textbox', { name: '名前', exact: true }).fill('見積書の確認')
  await page.getByRole('textbox', { name: '説明', exact: true }).fill('見積書の誤りを探します。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('あなたは見積書を確認する担当です。')
  await page.getByRole('combobox', { name: '公開範囲' }).selectOption('選択したメンバーとグループ')
  const groups = page.getByRole('group', { name: '利用できるグループ' })
  await groups.getByRole('checkbox', { name: '営業部' }).check()
  await page.getByRole('button', { name: '保存する' }).first().click()
  await expect(page.getByText('保存しました。')).toBeVisible()
  const member = await pageAs(await signIn('user'))
  await member.goto('/home/skill')
  await expect(member.getByRole('link', { name: /見積書の確認/ })).toBeVisible()

  await open(page, '/admin/group', 'グループ')
  await expect(page.getByRole('row').filter({ hasText: '営業部' })).toContainText('2名')
  await page.getByRole('link', { name: '営業部' }).click()
  await page.getByRole('button', { name: '削除' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '削除する' }).click()
  await heading(page, 'グループ')
  await expect(page.getByText('グループはまだありません。')).toBeVisible()
  await member.reload()
  await expect(member.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(member.getByRole('link', { name: /見積書の確認/ })).toHaveCount(0)
})
