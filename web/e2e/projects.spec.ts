import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from '@playwright/test'
import { strToU8, zipSync } from 'fflate'
import type { Account } from './support/account'
import { heading, open } from './support/admin'
import { hold } from './support/hold'
import { breaches, inspect } from './support/inspect'
import { create, type Project, share } from './support/projects'
import { drop, upload } from './support/sources'
import { expect, test } from './support/test'

const main = (page: Page): Locator => page.getByRole('main')
const tab = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: 'プロジェクトのメニュー' }).getByRole('link', { name })
const line = (page: Page, text: string): Locator => main(page).getByRole('listitem').filter({ hasText: text })
const instructions = (page: Page): Locator => main(page).getByRole('textbox', { name: '指示', exact: true })

/** Uploads a file into a project outside the browser. */
async function uploadTo(url: string, account: Account, { id }: Project, name: string): Promise<void> {
  const body = new FormData()
  body.append('file', new Blob(['発売の手順です。']), name)
  const headers = { Authorization: `Bearer ${account.idToken}` }
  const { status } = await fetch(`${url}/v1/data-source/file?project_id=${id}`, {
    method: 'POST',
    headers,
    body,
  })
  expect(status).toBe(201)
}

test('a member creates a project, adds files and a folder, and shares own files', async ({
  page,
  account,
  server,
}, info) => {
  const own = `議事録-${info.testId}.txt`
  await upload(server.url, account, own, `定例会議の議事録です。${info.testId}`)
  await page.goto('/home/skill')
  const menu = page.getByRole('navigation', { name: 'メニュー' })
  await menu.getByRole('link', { name: 'プロジェクト', exact: true }).click()
  await heading(page, 'プロジェクト')
  await page.getByRole('button', { name: 'プロジェクトを作成' }).click()
  const form = page.getByRole('dialog')
  await form.getByRole('button', { name: '作成する' }).click()
  await expect(form.getByText('名前を入力してください。')).toBeVisible()
  await form.getByRole('textbox', { name: '名前' }).fill('新製品の準備')
  await form.getByRole('textbox', { name: /^説明/ }).fill('春に発売する新製品の準備です。')
  await form.getByRole('button', { name: '作成する' }).click()
  await heading(page, '新製品の準備')
  await menu.getByRole('button', { name: '最近のプロジェクト' }).click()
  await expect(menu.getByRole('link', { name: '新製品の準備' })).toBeVisible()

  // The empty state offers the first steps.
  await expect(main(page).getByText('チャットはまだありません。')).toBeVisible()
  await tab(page, 'ファイル').click()
  await expect(main(page).getByText('ファイルはまだありません。')).toBeVisible()
  await expect(main(page).getByRole('link', { name: 'メンバーを招待' })).toBeVisible()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'ファイルを追加' }).click()
  await (await chooser).setFiles([
    { name: '手順書.txt', mimeType: 'text/plain', buffer: Buffer.from('発売の手順です。') },
    { name: '写真.heic', mimeType: 'image/heic', buffer: Buffer.from('x') },
  ])
  const report = page.getByRole('region', { name: 'アップロードの状況' })
  await expect(report.getByRole('status')).toHaveText('アップロードが終わりました。')
  await expect(report).toContainText('追加 1件')
  await expect(report).toContainText('写真.heic')
  await expect(line(page, '手順書.txt')).toBeVisible()
  await report.getByRole('button', { name: '閉じる' }).click()
  await expect(report).toHaveCount(0)

  const held = await hold(page, /\/v1\/data-source\/file\?/)
  await drop(page, 'main section', 'メモ.txt', '会議のメモです。')
  await expect(report.getByRole('progressbar')).toHaveAttribute('aria-valuetext', '0 / 1件')
  held.release()
  await expect(line(page, 'メモ.txt')).toBeVisible()

  // A folder with a known content, and files of the operating system.
  const folder = await mkdtemp(join(tmpdir(), 'tsumugi-'))
  for (const [name, text] of Object.entries({
    '写し.txt': '発売の手順です。',
    '価格.csv': '品名,価格\n椅子,9800\n',
  }))
    await writeFile(join(folder, name), text)
  await writeFile(join(folder, '.DS_Store'), 'x')
  const folderChooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'フォルダーを追加' }).click()
  await (await folderChooser).setFiles(folder)
  await expect(report).toContainText('追加 2件')
  await expect(report).toContainText('すでにあるファイル 1件')
  await rm(folder, { recursive: true })
  await expect(line(page, '価格.csv')).toBeVisible()

  // The files of a ZIP file.
  const archive = zipSync({
    企画: { '仕様.txt': strToU8('座面は木製です。'), '写し.txt': strToU8('発売の手順です。') },
  })
  await page.locator('input[accept]').setInputFiles([
    { name: '企画.zip', mimeType: 'application/zip', buffer: Buffer.from(archive) },
    { name: '壊れた.zip', mimeType: 'application/zip', buffer: Buffer.from('PK') },
  ])
  await expect(report).toContainText('追加 3件')
  await expect(report).toContainText('すでにあるファイル 2件')
  await expect(report).toContainText('ZIPファイルを展開できませんでした。')
  await expect(line(page, '仕様.txt')).toBeVisible()
  await report.getByRole('button', { name: '閉じる' }).click()

  await page.getByRole('button', { name: '自分のファイルから追加' }).click()
  const sharing = page.getByRole('dialog')
  await sharing.getByRole('textbox').fill(own)
  await sharing.getByRole('checkbox', { name: own }).check()
  expect(await breaches(page)).toEqual([])
  await sharing.getByRole('button', { name: '1件を追加' }).click()
  await expect(line(page, own)).toBeVisible()
  await expect(tab(page, 'ファイル')).toContainText('5')

  // The contents are searched, too. A result opens the file at the passage.
  const search = page.getByRole('textbox', { name: '名前と内容を検索' })
  const results = page.getByRole('region', { name: '内容の検索結果' })
  await search.fill('発売までの手順は？')
  const found = results.getByRole('listitem').filter({ hasText: '手順書.txt' })
  await expect(found.locator('mark').first()).toHaveText('発売')
  expect(await breaches(page)).toEqual([])
  await found.getByRole('button').click()
  const viewer = page.getByRole('complementary', { name: '手順書.txt' })
  await expect(viewer.getByText('発売の手順です。')).toBeVisible()
  expect(new URL(page.url()).searchParams.get('passage')).not.toBeNull()
  await viewer.getByRole('button', { name: 'ファイルを閉じる' }).click()
  const failing = '**/v1/project/*/search?*'
  await page.route(failing, (route) => route.fulfill({ status: 404, json: {} }))
  await search.fill('会議')
  await expect(results.getByText('読み込みに失敗しました')).toBeVisible()
  await page.unroute(failing)
  await results.getByRole('button', { name: 'やり直す' }).click()
  await expect(results.getByText('メモ.txt')).toBeVisible()
  await search.fill('鯨')
  await expect(results.getByText(/^検索した言葉に近い内容はありません。/)).toBeVisible()

  await search.fill('価格')
  await expect(line(page, '手順書.txt')).toHaveCount(0)
  await main(page).getByRole('checkbox', { name: '「価格.csv」を選択' }).check()
  await page.getByRole('button', { name: '1件をプロジェクトから外す' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '外す' }).click()
  await expect(main(page).getByText('名前が一致するファイルはありません。')).toBeVisible()
  await expect(tab(page, 'ファイル')).toContainText('4')
})

for (const [device, viewport] of Object.entries({
  'a desktop': { width: 1440, height: 900 },
  'a phone': { width: 390, height: 844 },
})) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport })

    test('managers invite members; roles, conflicts and the end of access are seen at once', async ({
      page,
      account,
      server,
      pageAs,
      signIn,
    }, info) => {
      const name = `受注-${info.testId}`
      const project = await create(account, name)
      const { id } = project
      const colleague = await pageAs(await signIn('admin'))
      await open(colleague, '/home/project', 'プロジェクト')
      await open(page, `/home/project/${id}/member`, name)
      await expect(main(page).getByText('メンバーは、あなただけです。')).toBeVisible()
      await main(page).getByRole('button', { name: 'メンバーを招待' }).click()
      const inviting = page.getByRole('dialog')
      await inviting.getByRole('textbox').fill('admin@demo.example')
      await inviting.getByRole('checkbox', { name: /admin@demo/ }).check()
      await inviting
        .getByRole('combobox', { name: '権限' })
        .selectOption({ label: '編集者（ファイルの追加と指示の編集も）' })
      expect(await breaches(page)).toEqual([])
      await inviting.getByRole('button', { name: '1件を招待' }).click()
      const member = line(page, 'admin@demo.example')
      await expect(member).toBeVisible()
      // The selects of the roles are aligned in rows with and without a button.
      const ends = await main(page)
        .getByRole('combobox')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right))
      expect(ends).toHaveLength(3)
      expect(Math.max(...ends) - Math.min(...ends)).toBeLessThan(1)

      // The colleague's list has the project without a reload.
      await main(colleague).getByRole('link', { name }).click()
      await heading(colleague, name)
      await tab(colleague, 'ファイル').click()
      await uploadTo(server.url, account, project, '手順書.txt')
      await expect(line(colleague, '手順書.txt')).toBeVisible()
      await tab(colleague, '指示').click()
      await tab(page, '指示').click()
      await instructions(page).fill('敬語で答えてください。\n金額は税抜きで答えてください。')
      await page.getByRole('button', { name: '保存する' }).click()
      await expect(instructions(colleague)).toHaveValue(/税抜き/)

      // Both edit the same line.
      await instructions(page).fill('敬語で短く答えてください。\n金額は税抜きで答えてください。')
      await instructions(colleague).fill(
        '敬語で丁寧に答えてください。\n金額は税抜きで答えてください。\n出典を書いてください。',
      )
      await colleague.getByRole('button', { name: '保存する' }).click()
      await expect(colleague.getByText('指示を保存しました。')).toBeVisible()
      await expect(instructions(page)).toHaveValue(/短く/)
      await page.getByRole('button', { name: '保存する' }).click()
      const conflict = page.getByRole('region', { name: 'ほかのメンバーが先に指示を変更しました' })
      await expect(conflict).toContainText('同じ箇所の変更が1か所あります。')
      await expect(conflict.getByRole('region', { name: '保存されている指示' })).toContainText('丁寧に')
      await expect(conflict.getByRole('region', { name: 'あなたの指示' })).toContainText('短く')
      const merged = conflict.getByRole('textbox', { name: '保存する指示' })
      await expect(merged).toHaveValue(/丁寧に.*短く.*出典を/s)
      expect(await breaches(page)).toEqual([])
      await merged.fill('敬語で短く、丁寧に答えてください。\n出典を書いてください。')
      await conflict.getByRole('button', { name: 'この内容で保存する' }).click()
      await expect(instructions(page)).toHaveValue(/短く、丁寧に/)
      await expect(instructions(colleague)).toHaveValue(/短く、丁寧に/)

      // A weaker role takes the editor away.
      await tab(page, 'メンバー').click()
      const role = member.getByRole('combobox')
      await role.focus()
      await role.selectOption('閲覧者')
      await expect(instructions(colleague)).toHaveCount(0)
      await expect(role).toBeFocused()
      await expect(main(colleague).getByText('敬語で短く、丁寧に答えてください。')).toBeVisible()
      await line(page, 'user@demo.example').getByRole('combobox').selectOption('閲覧者')
      await expect(page.getByText(/プロジェクトには管理者が必要です/)).toBeVisible()

      await tab(colleague, '設定').click()
      await colleague.getByRole('button', { name: 'プロジェクトから抜ける' }).click()
      await colleague.getByRole('dialog').getByRole('button', { name: '抜ける' }).click()
      await heading(colleague, 'プロジェクト')
      await expect(main(colleague).getByRole('link', { name })).toHaveCount(0)
      await expect(member).toHaveCount(0)

      // A removed member can no longer open the project.
      await share(account, (await (await account.call('GET', `/v1/project/${id}`)).json()) as Project, {
        'user@demo.example': 'manager',
        'admin@demo.example': 'viewer',
      })
      await main(colleague).getByRole('link', { name }).click()
      await heading(colleague, name)
      await member.getByRole('button', { name: /外す$/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: '外す' }).click()
      await heading(colleague, 'このプロジェクトは開けません')
      await expect(line(page, 'user@demo.example').getByRole('button', { name: /外す$/ })).toBeFocused()
    })

    test('a manager changes the settings of a project, archives, deletes and restores it', async ({
      page,
      account,
    }, info) => {
      const before = `契約-${info.testId}`
      const name = `契約書-${info.testId}`
      const { id } = await create(account, before)
      const skill = await account.skill('文書に質問')
      const request = { request_id: crypto.randomUUID(), skill_id: skill.id, project_id: id }
      const thread = (await (await account.call('POST', '/v1/thread', request)).json()) as { id: string }
      await open(page, `/home/project/${id}/setting`, before)
      await page.getByRole('textbox', { name: '名前' }).fill(name)
      await page.getByRole('combobox', { name: '新しいチャットのスキル' }).selectOption('要約')
      await page.getByRole('textbox', { name: /保存日数/ }).fill('七日')
      await page.getByRole('button', { name: '保存する' }).click()
      await expect(page.getByText('30以上3,650以下の数を入力してください。')).toBeVisible()
      await page.getByRole('textbox', { name: /保存日数/ }).fill('９０')
      await page.getByRole('textbox', { name: /容量の上限/ }).fill('1.5')
      await page.getByRole('button', { name: '保存する' }).click()
      await heading(page, name)
      await expect(page.getByText('今月の利用はまだありません。')).toBeVisible()

      await page.getByRole('button', { name: 'アーカイブする' }).click()
      await expect(page.getByText(/^アーカイブしたプロジェクトです/)).toBeVisible()
      await page.goto(`/home/skill/${skill.id}/chat/${thread.id}`)
      await expect(page.getByText(/^アーカイブされたプロジェクトのチャットです/)).toBeVisible()
      // A file would have no question to belong to.
      await page.locator('[data-scroller]').evaluate((target) => {
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['a'], 'a.txt', { type: 'text/plain' }))
        target.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
      })
      await expect(page.getByText('ここではファイルや画像を使用できません。')).toBeVisible()
      await open(page, `/home/project/${id}/setting`, name)
      await tab(page, 'ファイル').click()
      await expect(page.getByRole('button', { name: 'ファイルを追加' })).toHaveCount(0)
      await tab(page, '設定').click()
      await page.getByRole('button', { name: 'アーカイブから戻す' }).click()
      await expect(page.getByRole('textbox', { name: /容量の上限/ })).toHaveValue('1.5')

      await page.getByRole('button', { name: '削除する' }).click()
      await page.getByRole('dialog').getByRole('button', { name: '削除する' }).click()
      await heading(page, 'プロジェクト')
      await expect(line(page, name)).toHaveCount(0)
      await page.getByRole('button', { name: '削除済み' }).click()
      await expect(line(page, name)).toContainText('まで復元できます')
      await line(page, name).getByRole('button', { name: /復元/ }).click()
      await expect(line(page, name)).toHaveCount(0)
      await page.getByRole('button', { name: '利用中' }).click()
      await expect(line(page, name)).toBeVisible()
    })
  })
}

test.describe('of an administrator', () => {
  test.use({ who: 'admin' })

  test('all projects can be archived, deleted, restored, and given a manager', async ({
    page,
    signIn,
  }, info) => {
    const name = `管理-${info.testId}`
    const owner = await signIn('user')
    const { id } = await create(owner, name)
    const row = page.getByRole('row').filter({ hasText: name })
    const choose = async (item: string) => {
      await row.getByRole('button', { name: `「${name}」の操作` }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await open(page, `/admin/project?q=${name}`, 'プロジェクト')
    await expect(row).toContainText('メンバー 1名')
    await choose('アーカイブする')
    await expect(row).toHaveCount(0)
    await page.getByRole('combobox', { name: '状態' }).selectOption('アーカイブ')
    await choose('アーカイブから戻す')
    await expect(row).toHaveCount(0)
    await page.getByRole('combobox', { name: '状態' }).selectOption('利用中')
    await choose('削除する')
    await page.getByRole('dialog').getByRole('button', { name: '削除する' }).click()
    await expect(row).toHaveCount(0)
    await page.getByRole('combobox', { name: '状態' }).selectOption('削除済み')
    await choose('復元する')
    await expect(row).toHaveCount(0)
    await page.goto(`/home/project/${id}`)
    await heading(page, 'このプロジェクトは開けません')
    // The manager was notified of both.
    const { items } = (await (await owner.call('GET', '/v1/notification')).json()) as {
      items: { id: string; title: string }[]
    }
    const notices = items.filter(({ title }) => title.includes(name))
    expect(notices.map(({ title }) => title)).toEqual([
      `プロジェクト「${name}」が削除されました`,
      `プロジェクト「${name}」がアーカイブされました`,
    ])
    await owner.call('PUT', '/v1/notification/read', { ids: notices.map((notice) => notice.id) })

    // The server gives every project a manager, so that a project without one is made up here.
    await page.route('**/v1/project/all?**', async (route) => {
      const json = await (await route.fetch()).json()
      for (const project of json.items) project.managers = []
      await route.fulfill({ json })
    })
    await open(page, `/admin/project?q=${name}`, 'プロジェクト')
    await expect(row).toContainText('管理者がいません')
    await choose('管理者を指名')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('user@demo.example')
    await dialog.getByRole('checkbox', { name: /user@demo/ }).check()
    expect(await breaches(page)).toEqual([])
    const named = page.waitForRequest(`**/v1/project/${id}/manager`)
    await dialog.getByRole('button', { name: '指名する' }).click()
    expect((await named).postDataJSON()).toEqual({ user_id: expect.any(String) })
    await expect(dialog.getByRole('alert')).not.toBeEmpty()
  })

  test('the pages are accessible on a desktop and on a phone, in light and dark', async ({
    page,
    account,
    server,
  }) => {
    test.slow()
    const project = await create(account, '長い名前のプロジェクトでも一行に収まらないときに折り返されること')
    await share(account, project, { 'admin@demo.example': 'manager', 'user@demo.example': 'viewer' })
    await uploadTo(server.url, account, project, 'とても長い名前の手順書の最終版の確認済みの写し.txt')
    const tabs = ['file', 'member', 'instructions', 'setting'].map(
      (name) => `/home/project/${project.id}/${name}`,
    )
    for (const path of ['/home/project', ...tabs, '/admin/project']) {
      const show = async () => {
        await page.setViewportSize({ width: 1440, height: 900 })
        await page.goto(path)
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
        await expect(page.getByText('読み込み中...')).toHaveCount(0)
      }
      await inspect(page, { name: path, open: show })
    }
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`/home/project/${project.id}/setting`)
    await expect(page.getByRole('link', { name: '設定', exact: true })).toBeInViewport({ ratio: 0.9 })
  })
})
