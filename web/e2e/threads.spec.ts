import { openSkills } from './support/skills'
import { expect, test } from './support/test'

test.describe('the thread list', () => {
  test('shows the icons of the skills, and can be folded permanently', async ({ page, account }) => {
    await account.reset()
    await account.newThread('翻訳', '英訳の依頼')
    await openSkills(page)
    const list = page.getByRole('navigation', { name: 'チャット' })
    const icon = list.getByRole('link', { name: '英訳の依頼' }).locator('img')
    await expect(icon).toHaveAttribute('src', '/icons/skills.svg#translation')
    const button = page.getByRole('button', { name: 'チャット一覧', exact: true })
    await expect(button).toHaveAttribute('aria-expanded', 'true')
    const main = page.getByRole('main')
    const left = async () => (await main.boundingBox())?.x
    expect(await left()).toBe(280)
    await button.click()
    await expect(list).toBeHidden()
    await expect(button).toHaveAttribute('aria-expanded', 'false')
    expect(await left()).toBe(0)
    await page.reload()
    await expect(button).toHaveAttribute('aria-expanded', 'false')
    await expect(list).toBeHidden()
    expect(await left()).toBe(0)
    await page.keyboard.press('Control+b')
    await expect(list).toBeVisible()
    expect(await left()).toBe(280)

    // On a phone it is a sheet, whether folded or not.
    await page.keyboard.press('Control+b')
    await page.setViewportSize({ width: 390, height: 800 })
    await page.getByRole('button', { name: 'チャット一覧を開く' }).click()
    await expect(list.getByRole('link', { name: '英訳の依頼' })).toBeVisible()
  })

  test('renames in place, deletes with undo, and finds by title', async ({ page, account }) => {
    await account.reset()
    const titles = ['春の防災訓練', '備品の購入', '来客の案内']
    for (const title of titles) await account.newThread('汎用チャット', title)
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    await expect(list.getByRole('link')).toHaveText(titles.toReversed())
    await expect(list.getByRole('heading', { name: '今日' })).toBeVisible()

    const menuOf = async (title: string) => {
      await list.getByRole('link', { name: title }).hover()
      await list.getByRole('button', { name: `「${title}」の操作` }).click()
    }
    await menuOf('備品の購入')
    await page.getByRole('menuitem', { name: '名前を変更' }).click()
    const field = list.getByRole('textbox', { name: 'チャット名' })
    await expect(field).toBeFocused()
    await field.fill('備品と什器の購入')
    await field.press('Enter')
    await expect(list.getByRole('link', { name: '備品と什器の購入' })).toBeVisible()

    await menuOf('来客の案内')
    await page.getByRole('menuitem', { name: '削除' }).click()
    await expect(list.getByRole('link', { name: '来客の案内' })).toHaveCount(0)
    await page.getByRole('button', { name: '元に戻す' }).click()
    await expect(list.getByRole('link', { name: '来客の案内' })).toBeVisible()

    await menuOf('春の防災訓練')
    await page.getByRole('menuitem', { name: '削除' }).click()
    await expect(list.getByRole('link', { name: '春の防災訓練' })).toHaveCount(0)
    // Pending deletions are executed when the page closes.
    await page.reload()
    await expect(list.getByRole('link')).toHaveText(['来客の案内', '備品と什器の購入'])
    await expect.poll(async () => (await account.threads()).length).toBe(2)

    const search = page.getByRole('textbox', { name: 'チャットを検索' })
    await search.fill('什器')
    await expect(list.getByRole('link')).toHaveText(['備品と什器の購入'])
    await search.fill('見つからない言葉')
    await expect(list.getByText('一致するチャットはありません。')).toBeVisible()
  })

  test('is pinned, archived and deleted from the header of a thread, too', async ({
    page,
    account,
    chat,
  }) => {
    await account.reset()
    const thread = await account.newThread('汎用チャット', '契約書の確認')
    await account.ask(thread.id, '契約書')
    for (let i = 1; i <= 25; i++) await account.newThread('汎用チャット', `別件${i}`)
    // A thread that is not loaded in the list yet is shown in it while it is open.
    await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
    const list = page.getByRole('navigation', { name: 'チャット' })
    const opened = list.getByRole('region', { name: '開いているチャット' })
    await expect(opened.getByRole('link')).toHaveText('契約書の確認')

    const head = page.getByRole('banner').or(page.locator('main header'))
    const act = async (name: string) => {
      await head.getByRole('button', { name: 'チャットのメニュー' }).click()
      await page.getByRole('menuitem', { name, exact: true }).click()
    }
    await act('名前を変更')
    await page.getByRole('main').getByRole('textbox', { name: 'チャット名' }).fill('契約書の最終確認')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('契約書の最終確認')
    await act('ピン留め')
    const pinned = list.getByRole('region', { name: 'ピン留め' })
    await expect(pinned.getByRole('link')).toContainText('契約書の最終確認')
    await expect(opened).toHaveCount(0)
    await page.reload()
    await expect(pinned.getByRole('link')).toContainText('契約書の最終確認')
    await act('ピン留めを外す')
    await expect(pinned).toHaveCount(0)

    await act('アーカイブ')
    await page.getByRole('button', { name: '元に戻す' }).waitFor()
    await list.page().getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: 'アーカイブを表示' }).click()
    await expect(list.getByRole('link')).toHaveText(['契約書の最終確認'])
    // A question restores the thread from the archive.
    await chat.ask('続きの質問です')
    await chat.finished()
    await list.getByRole('button', { name: 'チャット一覧に戻る' }).click()
    await expect(list.getByRole('link').first()).toContainText('契約書の最終確認')

    await act('削除')
    await expect(page).toHaveURL(new RegExp(`/home/skill/${thread.skill.id}$`))
    await page.getByRole('button', { name: '元に戻す' }).last().click()
    await expect(page).toHaveURL(new RegExp(thread.id))
  })

  test('selects and deletes several at once, with undo', async ({ page, account }) => {
    await account.reset()
    for (const title of ['朝礼', '昼礼', '夕礼']) await account.newThread('汎用チャット', title)
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    await expect(list.getByRole('link')).toHaveCount(3)
    await page.getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: '複数を選択' }).click()
    await list.getByRole('checkbox', { name: '朝礼' }).check()
    await list.getByRole('checkbox', { name: '夕礼' }).check()
    const bar = page.getByRole('group', { name: '2件を選択中' })
    await expect(bar).toBeVisible()
    // Threads that are out of sight are not selected.
    await page.getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: 'アーカイブを表示' }).click()
    await expect(page.getByRole('group', { name: '0件を選択中' })).toBeVisible()
    await page.getByRole('textbox', { name: 'チャットを検索' }).fill('礼')
    await list.getByRole('checkbox', { name: '朝礼' }).check()
    const found = page.getByRole('group', { name: '1件を選択中' })
    await expect(found.getByRole('button', { name: 'アーカイブ' })).toBeVisible()
    await found.getByRole('button', { name: 'キャンセル' }).click()
    await expect(list).toBeFocused()
    await page.getByRole('textbox', { name: 'チャットを検索' }).fill('')
    await list.getByRole('button', { name: 'チャット一覧に戻る' }).click()
    await page.getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: '複数を選択' }).click()
    await list.getByRole('checkbox', { name: '朝礼' }).check()
    await list.getByRole('checkbox', { name: '夕礼' }).check()
    await bar.getByRole('button', { name: '削除' }).click()
    await expect(list.getByRole('link')).toHaveText(['昼礼'])
    await page.getByRole('button', { name: '元に戻す' }).click()
    await expect(list.getByRole('link')).toHaveText(['夕礼', '昼礼', '朝礼'])

    await page.getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: '複数を選択' }).click()
    await list.getByRole('checkbox', { name: '朝礼' }).check()
    await list.getByRole('checkbox', { name: '昼礼' }).check()
    await page.getByRole('group', { name: '2件を選択中' }).getByRole('button', { name: '削除' }).click()
    await page.reload()
    await expect.poll(async () => (await account.threads()).map((thread) => thread.title)).toEqual(['夕礼'])
  })

  test('does the same in the sheet of a phone, whose menus and messages can be reached', async ({
    account,
    page,
  }) => {
    await account.reset()
    await account.newThread('汎用チャット', '議事録')
    await account.newThread('汎用チャット', '英訳')
    await page.setViewportSize({ width: 390, height: 844 })
    await openSkills(page)
    await page.getByRole('button', { name: 'チャット一覧を開く' }).click()
    const sheet = page.getByRole('dialog', { name: 'チャット' })
    await sheet.getByRole('button', { name: '「英訳」の操作' }).click()
    await page.keyboard.press('Escape')
    await expect(page.getByRole('menu')).toHaveCount(0)
    await expect(sheet).toBeVisible()

    await sheet.getByRole('button', { name: '「英訳」の操作' }).click()
    await page.getByRole('menuitem', { name: '名前を変更' }).click()
    await sheet.getByRole('textbox', { name: 'チャット名' }).fill('英訳の控え')
    await page.keyboard.press('Enter')
    await expect(sheet.getByRole('link', { name: '英訳の控え' })).toBeFocused()

    await sheet.getByRole('button', { name: '「英訳の控え」の操作' }).click()
    await page.getByRole('menuitem', { name: '削除' }).click()
    await expect(sheet.getByRole('link', { name: '議事録' })).toBeFocused()
    await page.getByRole('button', { name: '元に戻す' }).click()
    await expect(sheet.getByRole('link', { name: '英訳の控え' })).toBeVisible()
  })

  test('loads twenty at a time, and more near its end', async ({ page, account }) => {
    await account.reset()
    for (let i = 1; i <= 45; i++) await account.newThread('要約', `${i}番目のチャット`)
    const pages: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname === '/v1/thread' && request.method() === 'GET') pages.push(search)
    })
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    await expect(list.getByRole('link')).toHaveCount(20)
    for (const count of [40, 45]) {
      await list.getByRole('link').last().scrollIntoViewIfNeeded()
      await expect(list.getByRole('link')).toHaveCount(count)
    }
    // When the live connection opens, the lists are reloaded: something may have changed meanwhile.
    expect([...new Set(pages)].filter((search) => !search.startsWith('?offset=0&'))).toEqual([
      '?offset=20&limit=20',
      '?offset=40&limit=20',
    ])
    expect(pages[0]).toBe('?offset=0&limit=20')
    await expect(list.getByRole('link').last()).toHaveText('1番目のチャット')
    await account.reset()
  })

  test('renders a part of ten thousand, which the keyboard and a screen reader can go through', async ({
    page,
    account,
  }) => {
    const first = await account.newThread('要約', '1番目')
    const items = Array.from({ length: 10_000 }, (_, at) => ({
      ...first,
      id: `t${at}`,
      title: `${at + 1}番目`,
    }))
    await page.route(/\/v1\/thread\?offset=0&/, (route) => route.fulfill({ json: { items } }))
    await page.route(/\/v1\/thread\?.*offset=10000&/, (route) => route.fulfill({ json: { items: [] } }))
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    const row = (name: string) => list.getByRole('link', { name, exact: true })
    const rendered = () => list.getByRole('listitem').count()
    await expect(row('1番目')).toBeVisible()
    expect(await rendered()).toBeLessThan(100)
    await row('1番目').focus()
    // A link and a menu in each row.
    for (let presses = 0; presses < 2 * 44; presses++) await page.keyboard.press('Tab')
    await expect(row('45番目')).toBeFocused()
    await expect(row('45番目')).toBeInViewport()
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2))
    await expect(row('5010番目')).toBeVisible()
    expect(await rendered()).toBeLessThan(100)
    const link = page.getByRole('link', { name: '5010番目', exact: true })
    const item = list.getByRole('listitem').filter({ has: link })
    await expect(item).toHaveAttribute('aria-posinset', '5010')
    // The row with the focus was removed; Tab continues at the rows that are rendered.
    await expect(list).toBeFocused()
    await page.keyboard.press('Tab')
    await expect(list.getByRole('link').and(page.locator(':focus'))).toBeInViewport()
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await expect(row('10000番目')).toBeInViewport()
    expect(await rendered()).toBeLessThan(100)
    // The same for archived threads.
    await page.route(/\/v1\/thread\?archived=true&offset=0&/, (route) => route.fulfill({ json: { items } }))
    await page.getByRole('button', { name: 'チャット一覧のメニュー' }).click()
    await page.getByRole('menuitem', { name: 'アーカイブを表示' }).click()
    await expect(list.getByRole('list', { name: 'アーカイブ' })).toBeVisible()
    await expect(row('1番目')).toBeVisible()
    expect(await rendered()).toBeLessThan(100)
    await account.reset()
  })

  test('shows the running thread of another tab', async ({
    page,
    context,
    chat,
    model,
    account,
    question,
  }) => {
    await account.reset()
    model.script(question, { chars: 300, title: '隣のタブの話' })
    const middle = model.pause(question, 20)
    const other = await context.newPage()
    await other.goto('/home/skill')
    const list = other.getByRole('navigation', { name: 'チャット' })
    await expect(list.getByText('チャットはまだありません。')).toBeVisible()
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await expect(list.getByRole('link')).toContainText('回答を作成しています')
    middle.release()
    await expect(list.getByRole('link')).toHaveText('隣のタブの話')
    await expect(page).toHaveTitle(/隣のタブの話/)
  })
})

test.describe('an answer', () => {
  test('is rated with a comment, which is there after a reload', async ({
    chat,
    page,
    model,
    account,
    question,
  }) => {
    model.script(question, { text: 'ご質問の件は、総務部が担当しています。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.answer.getByRole('button', { name: '良くない回答' }).click()
    const dialog = page.getByRole('dialog', { name: '良くなかった点を教えてください' })
    await dialog.getByRole('textbox', { name: 'コメント' }).fill('担当の部署が違います。')
    await dialog.getByRole('button', { name: '送信' }).click()
    await expect(page.getByText('評価を送信しました。')).toBeVisible()
    await expect(chat.answer.getByRole('button', { name: '良くない回答' })).toHaveAttribute(
      'aria-pressed',
      'true',
    )
    const stored = (await account.messages(await chat.threadId())).at(-1)
    expect(stored?.feedback).toMatchObject({ rating: 'bad', comment: '担当の部署が違います。' })

    await page.reload()
    const bad = chat.answer.getByRole('button', { name: '良くない回答' })
    await expect(bad).toHaveAttribute('aria-pressed', 'true')
    await bad.click()
    await expect(dialog.getByRole('textbox', { name: 'コメント' })).toHaveValue('担当の部署が違います。')
    await page.keyboard.press('Escape')
    await chat.answer.getByRole('button', { name: '良い回答', exact: true }).click()
    await expect(bad).toHaveAttribute('aria-pressed', 'false')
  })

  test('of a long thread: older messages come when the reader scrolls up', async ({
    chat,
    page,
    account,
    model,
  }) => {
    const thread = await account.newThread('汎用チャット', '長いチャット')
    model.script('番目の質問', { text: '短い答えです。\n\n'.repeat(6) })
    for (let i = 1; i <= 14; i++) await account.ask(thread.id, `${i}番目の質問です。`)
    await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
    await expect(chat.questions.last()).toContainText('14番目の質問です。')
    await expect(chat.questions.last()).toBeInViewport()
    await expect(chat.turns).toHaveCount(20)
    await chat.turns.first().scrollIntoViewIfNeeded()
    await expect(chat.turns).toHaveCount(28)
    await expect(page.getByRole('button', { name: '最新へ' })).toBeVisible()
    await page.getByRole('button', { name: '最新へ' }).click()
    await expect(chat.answer).toBeInViewport()
    await chat.questions.first().scrollIntoViewIfNeeded()
    await expect(chat.questions.first()).toContainText('1番目の質問です。')
  })
})
