import { plainSkill } from './support/chat'
import { enter } from './support/people'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

test.describe('a shared thread', () => {
  test('is read by a colleague as it was, continued, updated and ended', async ({
    page,
    account,
    chat,
    question,
    browser,
    server,
    signIn,
  }) => {
    await account.reset()
    const thread = await account.newThread(plainSkill, '社内研修の案')
    await account.ask(thread.id, question)
    await page.goto(`/chat/${thread.id}`)
    const openDialog = async () => {
      await page.getByRole('button', { name: 'チャットのメニュー' }).click()
      await page.getByRole('menuitem', { name: '共有' }).click()
    }
    await openDialog()
    const dialog = page.getByRole('dialog', { name: 'チャットを共有' })
    await dialog.getByRole('button', { name: 'リンクを作成' }).click()
    await expect(dialog.getByText(/時点の2件のメッセージを共有しています/)).toBeVisible()
    const copyLink = dialog.getByRole('button', { name: 'リンクをコピー' })
    await copyLink.click()
    await expect(copyLink.locator('.lucide-check')).toBeVisible()
    const field = await dialog.getByRole('textbox', { name: '共有リンク' }).boundingBox()
    expect((await copyLink.boundingBox())?.y).toBe(field?.y)
    await expect(dialog.getByRole('button')).toHaveText([
      'リンクをコピー',
      '最新の内容に更新',
      '共有を終了',
      '閉じる',
    ])
    // On a phone, the address of the server is visible.
    await page.setViewportSize({ width: 390, height: 844 })
    const narrow = await dialog.getByRole('textbox', { name: '共有リンク' }).boundingBox()
    expect(narrow?.width).toBeGreaterThan(240)
    expect((await copyLink.boundingBox())?.y).toBe(narrow?.y)
    await dialog.getByRole('textbox', { name: '共有リンク' }).focus()
    await expect.poll(() => dialog.getByRole('textbox').evaluate((field) => field.scrollLeft)).toBe(0)
    await page.setViewportSize({ width: 1280, height: 800 })
    const link = await page.evaluate(() => navigator.clipboard.readText())
    expect(link).toMatch(/\/share\/[0-9a-f-]{36}$/)
    await page.keyboard.press('Escape')
    await chat.ask('共有したあとの質問')
    await chat.finished()

    // A colleague who is not signed in signs in and is led back to it.
    const nobody = { cookies: [], origins: [] }
    const context = await browser.newContext({
      baseURL: server.url,
      locale: 'ja-JP',
      storageState: nobody,
    })
    const colleague = await context.newPage()
    await colleague.goto(link)
    await enter(colleague, 'admin@demo.example', password)
    await expect(colleague).toHaveURL(link)
    await expect(colleague.getByRole('heading', { level: 1, name: '社内研修の案' })).toBeVisible()
    const shown = colleague.getByRole('list', { name: 'メッセージ' })
    await expect(shown.locator('> li')).toHaveCount(2)
    await expect(shown).toContainText(question)
    await expect(shown).not.toContainText('共有したあとの質問')

    await openDialog()
    await dialog.getByRole('button', { name: '最新の内容に更新' }).click()
    await expect(dialog.getByText(/時点の4件のメッセージを共有しています/)).toBeVisible()
    await colleague.reload()
    await expect(shown).toContainText('共有したあとの質問')
    await colleague.getByRole('button', { name: '自分のチャットとして続ける' }).click()
    await expect(colleague).toHaveURL(/\/home\/skill\/[^/]+\/chat\//)
    const copy = chat.in(colleague)
    await expect(copy.turns).toHaveCount(4)
    await copy.ask('写したあとの質問')
    await copy.finished()

    await page.goto('/setting/share')
    await expect(page.getByRole('main').getByRole('link', { name: '社内研修の案' })).toBeVisible()
    await page.getByRole('button', { name: /「社内研修の案」の\s*共有を終了/ }).click()
    await expect(page.getByText('共有しているチャットはありません。', { exact: false })).toBeVisible()
    await colleague.goto(link)
    await expect(colleague.getByRole('heading', { name: 'ページが見つかりません' })).toBeVisible()
    await expect(copy.turns).toHaveCount(0)
    await context.close()
    await (await signIn('admin')).reset()
  })

  test('is ended by an administrator', async ({ page, account, question, pageAs, signIn }) => {
    await account.reset()
    const thread = await account.newThread(plainSkill, '見積もりの相談')
    const answer = await account.ask(thread.id, question)
    await account.call('PUT', `/v1/thread/${thread.id}/share`, { leaf: answer.id })
    const admin = await signIn('admin')
    const office = await pageAs(admin)
    await office.goto('/admin/share')
    await office.getByRole('button', { name: /「見積もりの相談」の\s*共有を終了/ }).click()
    await office.getByRole('dialog').getByRole('button', { name: '共有を終了' }).click()
    await expect(office.getByText('共有されているチャットはありません。')).toBeVisible()
    await page.goto('/setting/share')
    await expect(page.getByText('共有しているチャットはありません。', { exact: false })).toBeVisible()
  })
})

test.describe('a temporary chat', () => {
  test('is in no list, shows that, and is available by its URL', async ({ page, account, chat, device }) => {
    await account.reset()
    const other = await device()
    await other.goto('/home/skill')
    await chat.open()
    await page.getByRole('button', { name: '一時チャットにする' }).click()
    await expect(page.getByText('このチャットは一覧に残らず、24時間後に削除されます。')).toBeVisible()
    await chat.ask('残さない質問')
    await chat.finished()
    await expect(page.getByText(/このチャットは一覧に残らず、24時間後（.+）に削除されます。/)).toBeVisible()
    await expect(page).toHaveTitle(/^一時チャット/)
    await page.reload()
    await expect(chat.turns).toHaveCount(2)
    await expect(page.getByText(/このチャットは一覧に残らず/)).toBeVisible()
    await page.getByRole('button', { name: 'チャットのメニュー' }).click()
    await expect(page.getByRole('menuitem')).toHaveText([
      'Markdownで保存',
      'Wordで保存',
      '印刷・PDFで保存',
      '削除',
    ])
    await page.keyboard.press('Escape')
    // It is the last item of every list.
    const kept = await account.newThread(plainSkill, '残すチャット')
    for (const place of [page, other]) {
      const list = place.getByRole('navigation', { name: 'チャット' })
      await expect(list.getByRole('link')).toHaveText([kept.title])
    }
    await page.getByRole('textbox', { name: 'チャットを検索' }).fill('残さない')
    await expect(page.getByText('一致するチャットはありません。')).toBeVisible()
  })
})
