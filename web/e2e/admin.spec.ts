import { type Locator, test as playwright } from '@playwright/test'
import type { components } from '../src/lib/api/schema.gen'
import { choose, heading, invite, lineOf, membersOf, open, organization, test } from './support/admin'
import { hold } from './support/hold'
import { Idp } from './support/idp'
import { breaches, inspect, overflow } from './support/inspect'
import { newMail } from './support/people'
import { expect } from './support/test'

test.use({ who: 'admin' })

test.describe('the frame', () => {
  test('leads to its places and back, shows the current one, and has a page for unknown addresses', async ({
    page,
  }) => {
    await page.goto('/admin')
    await page.waitForURL('**/admin/contract')
    await heading(page, '契約')
    await expect(page).toHaveTitle('契約 | 管理者画面 | Tsumugi')
    const nav = page.getByRole('navigation', { name: '管理者画面のメニュー' })
    for (const [link, title, path] of [
      ['メンバー', 'メンバー', '/admin/organization/member'],
      ['シングルサインオン', 'シングルサインオン', '/admin/saml'],
      ['監査ログ', '監査ログ', '/admin/audit'],
    ] as const) {
      await nav.getByRole('link', { name: link }).click()
      await page.waitForURL(`**${path}`)
      await heading(page, title)
      await expect(nav.getByRole('link', { name: link })).toHaveAttribute('aria-current', 'page')
      await expect(nav.locator('[aria-current]')).toHaveCount(1)
    }
    await open(page, '/admin/nonsense', 'ページが見つかりません')
    await expect(nav).toBeVisible()
    await page
      .getByRole('navigation', { name: 'メニュー', exact: true })
      .getByRole('link', { name: 'スキル' })
      .click()
    await page.waitForURL('**/home/skill')
  })

  test('reports that something could not be loaded, and loads it again', async ({ page }) => {
    await page.route('**/v1/audit?*', (route) => route.fulfill({ status: 404, json: {} }))
    await open(page, '/admin/audit', '監査ログ')
    const failed = page.getByRole('alert').filter({ hasText: '読み込みに失敗しました' })
    await expect(failed).toBeVisible()
    await page.unroute('**/v1/audit?*')
    await failed.getByRole('button', { name: 'やり直す' }).click()
    await expect(failed).toBeHidden()
  })
})

test.describe('the contract', () => {
  test('shows its usage, by day and by member', async ({ page, account, signIn, server }) => {
    const user = await signIn('user')
    const thread = await user.newThread('汎用チャット')
    await user.ask(thread.id, '利用量を数えてください。')
    await account.ask((await account.newThread('汎用チャット')).id, '管理者の質問です。')
    await open(page, '/admin/contract', '契約')
    await expect(page.getByText('スタンダード')).toBeVisible()
    await expect(page.getByRole('meter', { name: 'シート' })).toHaveAttribute('aria-valuetext', /^50のうち/)
    await expect(page.getByRole('meter', { name: '今月のトークン' })).toBeVisible()

    // The table has the same numbers as the chart.
    const total = page.getByRole('row', { name: /^合計/ })
    const [messages = '', input = '', output = ''] = await total.getByRole('cell').allTextContents()
    expect(Number(messages)).toBeGreaterThanOrEqual(2)
    const chart = page.getByRole('slider')
    await chart.focus()
    await expect(chart).toHaveAttribute(
      'aria-valuetext',
      new RegExp(`入力${input}トークン、出力${output}トークン、回答${messages}件$`),
    )
    await page.keyboard.press('ArrowLeft')
    await expect(chart).toHaveAttribute('aria-valuetext', /入力0トークン、出力0トークン、回答0件$/)
    await page.getByRole('button', { name: '回答数' }).click()
    await expect(chart).toHaveAccessibleName(/日別の回答数/)

    const members = page.getByRole('table', { name: 'メンバー別の利用状況' })
    await expect(members.getByRole('row').filter({ hasText: 'user@demo.example' })).toContainText('山田 太郎')

    const used = (await (
      await account.call('GET', '/v1/contract')
    ).json()) as components['schemas']['Contract']
    const limit = Math.ceil(used.tokens.used / 0.85)
    await server.operate('contract', 'set', '--organization', organization, '--tokens', String(limit))
    await page.reload()
    await expect(page.getByText(/^今月のトークンの8\d%を使用しています。/)).toBeVisible()
    await server.operate('contract', 'set', '--organization', organization, '--tokens', '1', '--seats', '2')
    await page.reload()
    await expect(page.getByText(/^今月のトークンが上限に達しました。/)).toBeVisible()
    await expect(page.getByText('空きシートがないため、新しいメンバーを招待できません。')).toBeVisible()
    await server.operate(
      'contract',
      'set',
      '--organization',
      organization,
      '--tokens',
      '10000000',
      '--seats',
      '50',
    )
  })
})

test.describe('the members', () => {
  const name = '鈴木 花子'
  const email = 'hanako.suzuki@demo.example'

  test('are invited, changed and removed one by one, and the audit log records it', async ({
    page,
    server,
  }) => {
    await open(page, '/admin/organization/member', 'メンバー')
    await page.getByRole('button', { name: 'メンバーを招待' }).click()
    const dialog = page.getByRole('dialog', { name: 'メンバーを招待' })
    await dialog.getByRole('button', { name: '招待する' }).click()
    await expect(dialog.getByText('メールアドレスを入力してください。')).toBeVisible()
    await expect(dialog.getByLabel('メールアドレス')).toBeFocused()
    await dialog.getByLabel('メールアドレス').fill('user@demo.example')
    await dialog.getByLabel('名前').fill(name)
    await page.keyboard.press('Enter')
    await expect(dialog.getByText('すでにメンバーです。')).toBeVisible()
    await dialog.getByLabel('メールアドレス').fill(email)
    await dialog.getByRole('button', { name: '招待する' }).click()
    await expect(page.getByText(`${name}さんを招待しました。`)).toBeVisible()
    await expect(dialog).toBeHidden()
    const line = lineOf(page, email)
    await expect(line).toContainText('招待中')
    await newMail(server, email, 0)

    await choose(page, email, '招待メールを再送')
    await expect(page.getByText(`${name}さんに招待メールを再送しました。`)).toBeVisible()
    await newMail(server, email, 1)

    await choose(page, email, '編集')
    const edit = page.getByRole('dialog', { name: `${name}さんの編集` })
    await edit.getByLabel('名前').fill('佐藤 花子')
    await edit.getByLabel('役割').selectOption('管理者')
    await edit.getByLabel('状態').selectOption('停止中')
    await edit.getByRole('button', { name: '保存する' }).click()
    await expect(page.getByText('佐藤 花子さんの情報を変更しました。')).toBeVisible()
    await expect(line).toContainText('管理者')
    await expect(line).toContainText('停止中')

    await choose(page, email, '削除')
    const remove = page.getByRole('dialog', { name: '佐藤 花子さんを削除しますか？' })
    await expect(remove).toContainText(email)
    await expect(remove.getByText('チャット 0件')).toBeVisible() // Until then, the button ignores clicks.
    await remove.getByRole('button', { name: '削除する' }).click()
    await expect(page.getByText('佐藤 花子さんを削除しました。')).toBeVisible()
    await expect(line).toHaveCount(0)

    await page.getByRole('link', { name: '監査ログ' }).click()
    const events = page
      .getByRole('table', { name: '監査ログの一覧' })
      .getByRole('row')
      .filter({ hasText: email })
    await expect(events).toHaveCount(4)
    await expect(events.nth(0)).toContainText('メンバーの削除')
    await expect(events.nth(1)).toContainText('メンバーの変更')
    await expect(events.nth(1)).toContainText('役割：一般ユーザー → 管理者')
    await expect(events.nth(1)).toContainText('状態：利用中 → 停止中')
    await expect(events.nth(1)).toContainText('名前：鈴木 花子 → 佐藤 花子')
    await expect(events.nth(1)).toContainText('管理 花子')
    await expect(events.nth(1)).toContainText('127.0.0.1')
    await page.getByLabel('操作', { exact: true }).selectOption('招待メールの再送')
    await expect(page).toHaveURL(/action=member\.resend/)
    await expect(events).toHaveCount(1)
    await page.getByLabel('開始日').fill('2020-01-01')
    await page.getByLabel('終了日').fill('2020-01-31')
    await expect(page.getByText('条件に合う記録はありません。')).toBeVisible()
    await page.getByRole('button', { name: '絞り込みを解除' }).click()
    await expect(events).toHaveCount(4)
  })

  test('are searched, filtered and paged in the URL', async ({ page, account }) => {
    const names = Array.from({ length: 23 }, (_, at) => `page-${String(at).padStart(2, '0')}`)
    await invite(account, names)
    await open(page, '/admin/organization/member', 'メンバー')
    const rows = page.getByRole('table', { name: 'メンバーの一覧' }).locator('tbody tr')
    await expect(rows).toHaveCount(20)
    await page.getByRole('link', { name: '次へ' }).click()
    await expect(page).toHaveURL(/page=2/)
    await expect(page.getByText(/^21〜25件/)).toBeVisible()
    await page.getByRole('textbox', { name: '名前またはメールアドレスで検索' }).fill('page-1')
    await expect(rows).toHaveCount(10)
    await expect(page).toHaveURL(/\?q=page-1$/)
    await page.getByLabel('状態').selectOption('利用中')
    await expect(page.getByText('条件に合うメンバーはいません。')).toBeVisible()
    await page.reload()
    await expect(page.getByText('条件に合うメンバーはいません。')).toBeVisible()
    await page.getByRole('button', { name: '絞り込みを解除' }).click()
    await expect(rows).toHaveCount(20)
    await page.getByLabel('役割').selectOption('特権管理者')
    await expect(rows).toHaveCount(1)
    await expect(rows.first()).toContainText('あなた')
    // A page beyond the end leads to the last one.
    await open(page, '/admin/organization/member?page=9', 'メンバー')
    await expect(page).toHaveURL(/page=2/)
    for (const member of await membersOf(account))
      if (member.name.startsWith('page-')) await account.call('DELETE', `/v1/user/${member.id}`)
  })

  test('are invited together from a list and from a CSV file of Excel', async ({ page, account, server }) => {
    await open(page, '/admin/organization/member', 'メンバー')
    await page.getByRole('button', { name: 'メンバーを招待' }).click()
    await page.getByRole('button', { name: 'まとめて' }).click()
    const dialog = page.getByRole('dialog', { name: 'メンバーを招待' })
    // 氏名,メールアドレス / 鈴木,m1@demo.example in Shift_JIS.
    const shiftJis = Buffer.concat([
      Buffer.from([0x8e, 0x81, 0x96, 0xbc, 0x2c]),
      Buffer.from([
        0x83, 0x81, 0x81, 0x5b, 0x83, 0x8b, 0x83, 0x41, 0x83, 0x68, 0x83, 0x8c, 0x83, 0x58, 0x0d, 0x0a,
      ]),
      Buffer.from([0x97, 0xe9, 0x96, 0xd8]),
      Buffer.from(',m1@demo.example\r\n'),
    ])
    await dialog
      .getByLabel('CSVファイルを選択')
      .setInputFiles({ name: '名簿.csv', mimeType: 'text/csv', buffer: shiftJis })
    await expect(dialog.getByText('名簿.csvを読み込みました。')).toBeVisible()
    await expect(dialog.getByRole('row').filter({ hasText: 'm1@demo.example' })).toContainText('鈴木')
    await dialog
      .getByLabel('招待する人の一覧')
      .fill(
        'メール\t氏名\t役割\nm1@demo.example\t鈴木\nm2@demo.example\t山田\t管理者\n' +
          'user@demo.example\t山田 太郎\nm3@demo\t佐藤\nm4@demo.example\t田中\t部長',
      )
    await expect(dialog.getByText('3名に送信できます。')).toBeVisible()
    await expect(dialog.getByText('2行に誤りがあります。')).toBeVisible()
    await expect(dialog.getByText('「部長」という役割はありません。')).toBeVisible()
    expect(await breaches(page), 'the list').toEqual([])

    const seats = (await membersOf(account)).filter((member) => member.state === 'active').length + 1
    await server.operate('contract', 'set', '--organization', organization, '--seats', String(seats))
    await dialog.getByRole('button', { name: '3名を招待する' }).click()
    const results = page.getByRole('dialog', { name: '招待の結果' })
    await expect(results.getByText('3名のうち1名を招待しました。')).toBeVisible()
    await expect(results.getByRole('row').filter({ hasText: 'm1@demo.example' })).toContainText(
      '招待しました',
    )
    await expect(results.getByRole('row').filter({ hasText: 'm2@' })).toContainText('空きシートがありません')
    await expect(results.getByRole('row').filter({ hasText: 'user@' })).toContainText('すでにメンバーです')
    expect(await breaches(page), 'the results').toEqual([])
    await results.getByRole('button', { name: '閉じる' }).click()
    await expect(lineOf(page, 'm1@demo.example')).toContainText('招待中')
    await expect(page.getByText('（空きシートはありません）')).toBeVisible()
    await server.operate('contract', 'set', '--organization', organization, '--seats', '50')
  })

  test('that are sent again after a lost response are invited once', async ({ page, server }) => {
    await open(page, '/admin/organization/member', 'メンバー')
    await page.getByRole('button', { name: 'メンバーを招待' }).click()
    await page.getByRole('button', { name: 'まとめて' }).click()
    await page.getByLabel('招待する人の一覧').fill('lost@demo.example, 迷子')
    // The request arrives, but its response does not.
    await page.route(
      '**/v1/user/invite',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByRole('button', { name: '1名を招待する' }).click()
    const results = page.getByRole('dialog', { name: '招待の結果' })
    await expect(results.getByText('サーバーに接続できませんでした。')).toBeVisible()
    await results.getByRole('button', { name: '残りの1名に送信' }).click()
    await expect(results.getByText('1名のうち1名を招待しました。')).toBeVisible()
    await newMail(server, 'lost@demo.example', 0)
  })

  test('are shown again with やり直す if they could not be removed', async ({ page, account }) => {
    await invite(account, ['stays'])
    await open(page, '/admin/organization/member?q=stays', 'メンバー')
    await page.route('**/v1/user/*', (route) => route.abort(), { times: 1 })
    const held = await hold(page, /\/removal$/)
    await choose(page, 'stays@demo.example', '削除')
    const remove = page.getByRole('button', { name: '削除する' })
    await expect(remove).toHaveAttribute('aria-busy', 'true')
    const cancel = page.getByRole('button', { name: 'キャンセル' })
    const box = () => cancel.evaluate((button) => button.getBoundingClientRect().toJSON())
    const before = await box()
    await remove.click() // Ignored, because the data to be deleted are not yet listed.
    held.release()
    await expect(page.getByText(/^チャット 0件/)).toBeVisible()
    expect(await box()).toEqual(before)
    await remove.click()
    await expect(page.getByText(/^staysさんを削除できませんでした。/)).toBeVisible()
    await expect(lineOf(page, 'stays@demo.example')).toBeVisible()
    await page.getByRole('button', { name: 'やり直す' }).click()
    await expect(lineOf(page, 'stays@demo.example')).toHaveCount(0)
  })
})

test('an administrator sees the actions reserved for super-admins, with the reason', async ({
  page,
  account,
  pageAs,
  signIn,
}) => {
  const user = await signIn('user')
  const member = (await membersOf(account)).find(({ email }) => email === 'user@demo.example')
  await account.call('PUT', `/v1/user/${member?.id}`, { role: 'organization-admin' })
  await invite(account, ['someone'])
  const other = await pageAs(user)

  await open(other, '/admin/organization/member?q=admin@', 'メンバー')
  await choose(other, 'admin@demo.example', '編集')
  const edit = other.getByRole('dialog', { name: '管理 花子さんの編集' })
  await expect(edit).toContainText('管理者と特権管理者を変更できるのは、特権管理者だけです。')
  await expect(edit.getByLabel('役割')).toBeDisabled()
  await expect(edit.getByRole('button', { name: '保存する' })).toHaveCount(0)
  await other.keyboard.press('Escape')

  await open(other, '/admin/organization/member?q=someone', 'メンバー')
  await choose(other, 'someone@demo.example', '編集')
  const someone = other.getByRole('dialog', { name: 'someoneさんの編集' })
  await expect(someone.getByRole('option', { name: '特権管理者' })).toBeDisabled()
  await expect(someone).toContainText('管理者の役割を付けられるのは、特権管理者だけです。')
  await other.keyboard.press('Escape')

  await open(other, '/admin/saml', 'シングルサインオン')
  await expect(other.getByText('設定を変更できるのは特権管理者だけです。')).toBeVisible()
  await expect(other.getByRole('button', { name: 'オンにする' })).toHaveCount(0)
  await other.goto('/admin/saml/edit')
  await other.waitForURL('**/admin/saml')

  // Administrators cannot change themselves, and are redirected when they lose the role.
  await open(page, '/admin/organization/member?q=admin@', 'メンバー')
  await choose(page, 'admin@demo.example', '編集')
  await expect(page.getByText(/^ご自身の情報は変更できません。/)).toBeVisible()
  await account.call('PUT', `/v1/user/${member?.id}`, { role: 'general-user' })
  await other.goto('/admin/organization/member')
  await other.waitForURL('**/home/skill')
})

test('the admin screens are accessible', async ({ page }) => {
  playwright.slow()
  for (const [path, name] of [
    ['/admin/contract', '契約'],
    ['/admin/organization/member', 'メンバー'],
    ['/admin/saml', 'シングルサインオン'],
    ['/admin/saml/edit', 'シングルサインオンの設定'],
    ['/admin/audit', '監査ログ'],
  ] as const) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await inspect(page, {
      name: path,
      open: async () => {
        await open(page, path, name)
        await expect(page.getByText('読み込み中...')).toHaveCount(0)
      },
    })
  }
  // The dialogs, still at phone size.
  await open(page, '/admin/organization/member', 'メンバー')
  await page.getByRole('button', { name: 'メンバーを招待' }).click()
  expect(await breaches(page), 'invite').toEqual([])
  expect(await overflow(page)).toEqual({ by: 0, what: [] })
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'メンバーを招待' })).toBeFocused()
  await choose(page, 'user@demo.example', '編集')
  expect(await breaches(page), 'edit').toEqual([])
  await page.keyboard.press('Escape')
  const menu = lineOf(page, 'user@demo.example').getByRole('button')
  await expect(menu).toBeFocused()
})

test('no column of a list is cut off in a narrower window, even with a long address', async ({
  page,
  account,
}) => {
  await invite(account, ['a-very-long-address-of-the-accounting-department-in-yokohama'])
  for (const width of [1280, 1024, 900, 760, 320]) {
    await page.setViewportSize({ width, height: 800 })
    for (const [path, name] of [
      ['/admin/organization/member', 'メンバー'],
      ['/admin/audit', '監査ログ'],
    ] as const) {
      await open(page, path, name)
      const list = page.getByRole('table')
      await expect(list.getByText(/^a-very-long-address.*@/).first()).toBeVisible()
      const hidden = () =>
        list.evaluate((table) => table.scrollWidth - (table.parentElement?.clientWidth ?? 0))
      expect(await hidden(), `${name}, ${width} px`).toBeLessThanOrEqual(0)
    }
  }
})

test('the parts of a screen keep their places beside long texts', async ({ page }) => {
  const right = (part: Locator) =>
    part.evaluate((element) => Math.round(element.getBoundingClientRect().right))
  await page.setViewportSize({ width: 1440, height: 900 })
  await open(page, '/admin/group', 'グループ')
  const search = page.getByRole('main').getByRole('textbox')
  expect(await right(page.getByRole('button', { name: 'グループを作成' }))).toBe(await right(search))
  const menu = page.getByRole('navigation', { name: '管理者画面のメニュー' })
  expect(await menu.evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBe(0)
  const edge = await right(search)
  await open(page, '/admin/project', 'プロジェクト')
  expect(await right(page.getByRole('main').getByRole('combobox'))).toBe(edge)
  // On a phone, each value has a label, including the last sign-in of a member who has never signed in.
  await page.route('**/v1/user?*', async (route) => {
    const list = (await (await route.fetch()).json()) as { items: { last_signed_in_at?: string }[] }
    for (const member of list.items) delete member.last_signed_in_at
    await route.fulfill({ json: list })
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, '/admin/organization/member', 'メンバー')
  await expect(page.getByRole('cell', { name: 'まだありません' }).first()).toHaveAttribute(
    'data-label',
    '最終ログイン',
  )
})

test('single sign-on is configured, tested and switched on and off', async ({ page, account }) => {
  playwright.slow()
  const person = { login: 'hanako', email: 'sso.hanako@demo.example', name: '統合 花子' }
  const idp = await Idp.start([person])
  try {
    await open(page, '/admin/saml', 'シングルサインオン')
    await expect(page.getByRole('button', { name: 'オンにする' })).toBeDisabled()
    const copy = page.getByRole('button', { name: 'エンティティIDをコピー' })
    await copy.click()
    await expect(copy.locator('.lucide-check')).toBeVisible()
    const entityId = await page.evaluate(() => navigator.clipboard.readText())
    expect(entityId).toMatch(/\/v1\/saml\/[0-9a-f-]{36}\/metadata$/)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'メタデータをダウンロード' }).click()
    expect((await download).suggestedFilename()).toBe('tsumugi-saml-metadata.xml')

    await page.getByRole('link', { name: '設定を編集' }).click()
    await heading(page, 'シングルサインオンの設定')
    const xml = page.getByLabel('IDプロバイダーのメタデータ（XML）')
    await page.getByRole('button', { name: '保存する' }).click()
    await expect(xml).toBeFocused()
    await xml.fill('https://idp.example/metadata')
    await page.getByRole('button', { name: '保存する' }).click()
    await expect(page.getByText(/^XMLとして読み取れません。/)).toBeVisible()

    // Input is not lost by accident.
    await page.getByRole('link', { name: '監査ログ' }).click()
    const unsaved = page.getByRole('dialog', { name: '保存せずに移動しますか？' })
    await unsaved.getByRole('button', { name: 'このページに残る' }).click()
    await expect(xml).toHaveValue('https://idp.example/metadata')

    // The server's errors appear under their fields.
    await page.getByRole('button', { name: '項目ごとに入力' }).click()
    await page.getByLabel('エンティティID').fill('urn:example')
    await page.getByLabel('ログインURL（SSO URL）').fill('https://idp.example/sso')
    await page.getByLabel('署名証明書').fill('not a certificate')
    await page.getByRole('button', { name: '保存する' }).click()
    await expect(page.getByText(/^証明書を読み取れませんでした。/)).toBeVisible()
    await expect(page.getByLabel('署名証明書')).toBeFocused()

    await page.getByRole('button', { name: 'メタデータで登録' }).click()
    const buffer = Buffer.from(await idp.metadata())
    await page
      .getByLabel('XMLファイルを選択')
      .setInputFiles({ name: 'metadata.xml', mimeType: 'text/xml', buffer })
    await expect(page.getByText(`エンティティID：${idp.url}/metadata`)).toBeVisible()
    await page.getByLabel('メールアドレスの属性').fill(idp.attributes.email)
    await page.getByLabel('名前の属性').fill(idp.attributes.name)
    await expect(page.getByRole('checkbox', { name: 'demo.example' })).toBeChecked()
    await page.getByRole('button', { name: '保存する' }).click()
    await heading(page, 'シングルサインオン')
    await expect(page.getByText(idp.attributes.name)).toBeVisible()

    await page.getByRole('button', { name: 'テストログイン' }).click()
    await idp.enter(page, person)
    await page.waitForURL(/\/admin\/saml\?test=/)
    const result = page.getByRole('region', { name: 'テストログインの結果' })
    await expect(result).toContainText('ログインできることを確認しました。')
    await expect(result).toContainText(`「${person.name}」（${person.email}）`)
    expect(await breaches(page), 'the result').toEqual([])
    await result.getByRole('button', { name: '結果を閉じる' }).click()
    await expect(result).toBeHidden()
    // The test sign-in added no member.
    expect((await membersOf(account)).some((member) => member.email === person.email)).toBe(false)

    await page.getByRole('button', { name: 'オンにする' }).click()
    const on = page.getByRole('dialog', { name: 'シングルサインオンをオンにしますか？' })
    await expect(on).toContainText('パスワードでログインできなくなります')
    expect(await breaches(page), 'switching on').toEqual([])
    await on.getByRole('button', { name: 'オンにする' }).click()
    await expect(page.getByText('シングルサインオンをオンにしました。')).toBeVisible()
    await expect(page.getByText('メンバーは、組織の認証画面からログインします。')).toBeVisible()
    await page.getByRole('button', { name: 'オフにする' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'オフにする' }).click()
    await expect(page.getByText('シングルサインオンをオフにしました。')).toBeVisible()

    await open(page, '/admin/audit?action=saml.on', '監査ログ')
    await expect(page.getByRole('row').filter({ hasText: 'シングルサインオン：オフ → オン' })).toHaveCount(1)
  } finally {
    await idp.stop()
  }
})
