import { expect } from '@playwright/test'
import { test } from './support/admin'
import { inspect } from './support/inspect'
import { uploadRead } from './support/sources'

test.use({ who: 'admin' })

test('administrators create categories, order them and move skills out of them', async ({
  page,
  account,
  pageAs,
  signIn,
}) => {
  await page.goto('/home/skill/library?tab=categories')
  const list = page.getByRole('list', { name: '分類' })
  const names = () => list.getByRole('listitem').locator('span:nth-child(2)').allTextContents()
  await expect(list.getByRole('listitem').first()).toBeVisible()
  const before = await names()
  await page.getByRole('textbox', { name: '分類の名前' }).fill('営業')
  await page.getByRole('button', { name: '分類を追加' }).click()
  await expect.poll(names).toEqual([...before, '営業'])
  await page.getByRole('textbox', { name: '分類の名前' }).fill('営業')
  await page.getByRole('textbox', { name: '分類の名前' }).press('Enter')
  await expect(page.getByText('「営業」という分類はすでにあります')).toBeVisible()

  // A quick series of presses loses none of them, and the focus stays at the button.
  const up = page.getByRole('button', { name: '「営業」を上へ移動' })
  await up.focus()
  for (const _ of before) await page.keyboard.press('Enter')
  await expect(up).toBeFocused()
  await expect.poll(names).toEqual(['営業', ...before])
  await expect
    .poll(async () => {
      const answer = await account.call('GET', '/v1/category?all=true&limit=100')
      return ((await answer.json()) as { items: { name: string }[] }).items[0]?.name
    })
    .toBe('営業')
  await inspect(page, {
    name: '/home/skill/library?tab=categories',
    open: (at) => at.goto('/home/skill/library?tab=categories').then(() => expect(list).toBeVisible()),
  })

  await page.goto('/home/skill/new')
  await page.getByRole('textbox', { name: '名前', exact: true }).fill('見積もりの確認')
  await page.getByRole('textbox', { name: '説明' }).fill('見積書を確かめます。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('見積書を確かめる。')
  await page.getByLabel('公開範囲').selectOption('組織の全員')
  await page.getByLabel('分類').selectOption('営業')
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page.getByText('保存しました。')).toBeVisible()
  const user = await signIn('user')
  const member = await pageAs(user)
  await member.goto('/home/skill')
  await member.getByRole('button', { name: '営業', exact: true }).click()
  await expect(member.getByRole('link', { name: '見積もりの確認' })).toBeVisible()
  await expect(member.getByRole('link', { name: '汎用チャット' })).toHaveCount(0)
  await member.goto('/home/skill/library?tab=categories')
  await expect(member.getByRole('heading', { name: 'スキルの管理' })).toBeVisible()
  await expect(member.getByRole('button', { name: '分類を追加' })).toBeHidden()

  await page.goto('/home/skill/library?tab=categories')
  await page.getByRole('button', { name: '「営業」の名前を変更' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: '分類の名前' }).fill('販売')
  await dialog.getByRole('button', { name: '保存する' }).click()
  await expect.poll(names).toEqual(['販売', ...before])
  await page.getByRole('button', { name: '「販売」を削除' }).click()
  await dialog.getByLabel('スキルの移動先').selectOption('文章作成')
  await dialog.getByRole('button', { name: '削除' }).click()
  await expect.poll(names).toEqual(before)
  await member.goto('/home/skill')
  await member.getByRole('button', { name: '文章作成', exact: true }).click()
  await expect(member.getByRole('link', { name: '見積もりの確認' })).toBeVisible()
})

test('a file is imported, standard skills are hidden, and copies are created once', async ({
  page,
  account,
  pageAs,
  signIn,
}) => {
  const file = `skills:
  - key: greeting
    category: writing
    name: 挨拶状の下書き
    description: 季節の挨拶状を書きます。
    icon: mail
    form_type: chat
    prompt: 挨拶状を書く。
`
  await page.goto('/home/skill/library')
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'ファイルから読み込む' }).click()
  await (await choosing).setFiles({ name: 's.yaml', mimeType: 'text/yaml', buffer: Buffer.from(file) })
  await expect(page.getByRole('textbox', { name: '名前', exact: true })).toHaveValue('挨拶状の下書き')
  await expect(page.getByLabel('分類').locator('option:checked')).toHaveText('文章作成')
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page).toHaveURL(/\/home\/skill\/[0-9a-f-]{36}\/edit$/)

  // An invalid file is refused with the number of its line.
  await page.goto('/home/skill/library')
  const again = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'ファイルから読み込む' }).click()
  await (await again).setFiles({
    name: 's.yaml',
    mimeType: 'text/yaml',
    buffer: Buffer.from(`${file}    color: red\n`),
  })
  await expect(page.getByText('9行目の color は使えない項目です')).toBeVisible()

  await page.getByRole('button', { name: '複製' }).dblclick()
  await expect(page.getByRole('heading', { name: '挨拶状の下書きのコピー' })).toBeVisible()
  const shelf = await (await account.call('GET', '/v1/skill/library')).json()
  expect(shelf).toMatchObject({ total: 2 })

  const user = await signIn('user')
  const member = await pageAs(user)
  const line = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: '翻訳' }) })
  for (const [button, offered] of [
    ['非表示にする', false],
    ['表示する', true],
  ] as const) {
    await page.goto('/home/skill/library?tab=standard')
    await line.getByRole('button', { name: button }).click()
    await expect(line.getByRole('button', { name: button })).toBeHidden()
    await member.goto('/home/skill')
    await expect(member.getByRole('link', { name: '汎用チャット' }).last()).toBeVisible()
    await expect(member.getByRole('link', { name: '翻訳', exact: true })).toHaveCount(offered ? 1 : 0)
  }
})

test('a skill with documents is for chosen members', async ({
  page,
  server,
  account,
  model,
  pageAs,
  signIn,
}) => {
  await uploadRead(server.url, account, '宿泊規程.txt', '宿泊費の上限は、一泊一万二千円とする。')
  const people = Array.from({ length: 30 }, (_, i) => `people-${String(i).padStart(2, '0')}`)
  await account.call('POST', '/v1/user/invite', {
    users: people.map((name) => ({ email: `${name}@demo.example`, name, role: 'general-user' })),
  })
  const user = await signIn('user')
  const { name } = (await (await user.call('GET', '/v1/me')).json()) as { name: string }
  await page.goto('/home/skill/new')
  await page.getByRole('textbox', { name: '名前', exact: true }).fill('宿泊費の相談')
  await page.getByRole('textbox', { name: '説明' }).fill('規程に沿って答えます。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('規程に沿って答える。')
  await page.getByLabel('宿泊規程.txt').check()
  await page.getByLabel('公開範囲').selectOption('選択したメンバーとグループ')
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(
    page.getByText('利用できるメンバーまたはグループを一つ以上選択してください').first(),
  ).toBeVisible()
  const search = page.getByRole('textbox', { name: '名前またはメールアドレスで検索' })
  await search.fill('people-29')
  await page.getByRole('checkbox', { name: /people-29/ }).check()
  await expect(page.getByRole('list', { name: '選択中：1件' })).toContainText('people-29')
  await inspect(page, { name: 'the chosen members', open: async () => {} })
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page).toHaveURL(/\/edit$/)

  const member = await pageAs(user)
  await member.goto('/home/skill')
  await expect(member.getByRole('link', { name: '汎用チャット' }).last()).toBeVisible()
  await expect(member.getByRole('link', { name: '宿泊費の相談' })).toHaveCount(0)
  await search.fill('user@demo')
  await page.getByRole('checkbox', { name: new RegExp(name) }).check()
  await page.getByRole('button', { name: 'people-29を選択から外す' }).click()
  await expect(search).toBeFocused()
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page.getByText('保存していない変更があります')).toBeHidden()
  await member.reload()
  await member.getByRole('link', { name: '宿泊費の相談' }).click()
  await expect(member).toHaveURL(/\/home\/skill\/[0-9a-f-]{36}$/)
  // The address changes before the page, whose composer has the same name.
  await expect(member.getByRole('textbox', { name: 'スキルを検索' })).toHaveCount(0)
  model.script('宿泊費の上限は', { text: '宿泊費の上限は、一泊一万二千円です[1]。' })
  await member.getByRole('textbox', { name: '質問' }).fill('宿泊費の上限はいくらですか')
  await member.keyboard.press('Enter')
  await expect(member.getByRole('group', { name: '回答の操作' })).toBeVisible()
  // They see the cited text, and cannot open the file.
  await member.getByRole('button', { name: '出典1、宿泊規程.txt' }).click()
  await expect(member.getByRole('tooltip')).toContainText('一泊一万二千円とする')
  await expect(member.getByRole('complementary', { name: /宿泊規程/ })).toHaveCount(0)
  expect(await (await user.call('GET', '/v1/data-source')).json()).toMatchObject({ items: [] })
})

test('a thread with an archived skill can be read, and continued once the skill is restored', async ({
  page,
  account,
  pageAs,
  signIn,
}) => {
  const { items } = (await (await account.call('GET', '/v1/category?all=true')).json()) as {
    items: { id: string }[]
  }
  const { id } = (await (
    await account.call('POST', '/v1/skill', {
      request_id: crypto.randomUUID(),
      audience: 'organization',
      content: {
        name: '議事録の清書',
        description: '議事録を整えます。',
        icon: 'report',
        category_id: items[0]?.id,
        prompt: '議事録を整える。',
      },
    })
  ).json()) as { id: string }
  const user = await signIn('user')
  const thread = await user.newThread('議事録の清書')
  await user.ask(thread.id, '清書してください。')
  const path = `/chat/${thread.id}`
  await page.goto('/home/skill/library?tab=organization')
  const line = page.getByRole('listitem').filter({ hasText: '議事録の清書' })
  await line.getByRole('button', { name: 'アーカイブ' }).click()
  await expect(line).toHaveCount(0)

  const member = await pageAs(user)
  const notice = member.getByText('このスキルはアーカイブされたため、新しい質問には使えません。')
  const composer = member.getByRole('textbox', { name: '質問' })
  const change = member.getByRole('button', { name: /^(質問を編集|回答を再生成)$/ })
  await member.goto(path)
  await expect(notice).toBeVisible()
  await expect(member.getByText('清書してください。', { exact: true })).toBeVisible()
  await expect(member.getByRole('button', { name: 'コピー', exact: true })).toBeVisible()
  await expect(composer).toHaveCount(0)
  await expect(change).toHaveCount(0)
  await inspect(member, {
    name: 'the thread of an archived skill',
    open: (at) => at.goto(path).then(() => expect(notice).toBeVisible()),
  })

  await account.call('POST', `/v1/skill/${id}/restore`)
  await member.goto(path)
  await expect(composer).toBeEnabled()
  await expect(notice).toHaveCount(0)
  await expect(change).toHaveCount(2)
})

test('changes based on an older version are reported', async ({ page, account }) => {
  const { items } = (await (await account.call('GET', '/v1/category?all=true')).json()) as {
    items: { id: string }[]
  }
  const content = {
    name: '週報の下書き',
    description: '週報を書きます。',
    icon: 'report',
    category_id: items[0]?.id,
    prompt: '週報を書く。',
  }
  const saving = () => ({ request_id: crypto.randomUUID(), audience: 'self', content })
  const { id } = (await (await account.call('POST', '/v1/skill', saving())).json()) as { id: string }
  await page.goto(`/home/skill/${id}/edit`)
  const prompt = page.getByRole('textbox', { name: 'プロンプト' })
  await prompt.fill('私の変更。')
  await account.call('PUT', `/v1/skill/${id}`, {
    ...saving(),
    version: 1,
    content: { ...content, prompt: 'ほかの変更。' },
  })
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  const newer = page.getByRole('alert').filter({ hasText: 'この画面の変更は第1版に加えたものです' })
  await expect(newer).toContainText('第2版を保存しました')
  await expect(prompt).toHaveValue('私の変更。')
  await page.reload()
  await newer.getByRole('button', { name: '版の履歴で違いを確認' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '閉じる' }).click()
  await newer.getByRole('button', { name: '自分の変更で上書きする' }).click()
  await expect(newer).toBeHidden()
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page.getByText('保存していない変更があります')).toBeHidden()
  await expect(page.getByText('保存しました。')).toBeVisible()
  await expect(prompt).toHaveValue('私の変更。')
})
