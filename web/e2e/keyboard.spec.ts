import type { Locator, Page } from '@playwright/test'
import { emails } from './support/account'
import { InputMethod } from './support/ime'
import { card, openSkills } from './support/skills'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

test.describe('typing Japanese', () => {
  test('the Enter of a conversion sends nothing, the next one does', async ({
    chat,
    page,
    model,
    account,
  }) => {
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/message/stream')) sent.push(request.url())
    })
    model.script('会議の議事録', { text: '承知しました。' })
    await chat.open()
    await chat.composer.focus()
    const ime = await InputMethod.attach(page)
    await ime.begin(chat.composer, 'ｋ', 'か', 'かい', 'かいぎ', '会議')
    await ime.processedEnter()
    await ime.plainEnter()
    await ime.confirm('会議')
    // Safari sends the confirming Enter after the end of the composition.
    await ime.processedEnter()
    await ime.compose('の議事録')
    await ime.confirm('の議事録')
    await expect(chat.composer).toHaveValue('会議の議事録')
    await expect(chat.turns).toHaveCount(0)
    expect(sent).toHaveLength(0)

    await ime.pass()
    await page.keyboard.press('Shift+Enter')
    await ime.compose('要点')
    await ime.confirm('要点')
    await expect(chat.composer).toHaveValue('会議の議事録\n要点')
    expect(sent).toHaveLength(0)

    await ime.pass()
    await page.keyboard.press('Enter')
    await expect(chat.composer).toHaveValue('')
    await chat.finished()
    expect(sent).toHaveLength(1)
    const [asked] = await account.messages(await chat.threadId())
    expect(asked?.content).toBe('会議の議事録\n要点')
  })

  test('the Enter of a conversion ends no search, no palette and no renaming', async ({ page, account }) => {
    await account.reset()
    await account.newThread('汎用チャット', '古い名前')
    await page.goto('/home/skill')
    const ime = await InputMethod.attach(page)
    const list = page.getByRole('navigation', { name: 'チャット' })
    await list.getByRole('link', { name: '古い名前' }).hover()
    await list.getByRole('button', { name: '「古い名前」の操作' }).click()
    await page.getByRole('menuitem', { name: '名前を変更' }).click()
    const field = list.getByRole('textbox', { name: 'チャット名' })
    await expect(field).toBeFocused()
    await ime.begin(field, '新しい')
    await ime.plainEnter()
    await ime.processedEnter()
    await expect(field).toBeVisible()
    await ime.confirm('新しい名前')
    await ime.pass()
    await page.keyboard.press('Enter')
    await expect(list.getByRole('link', { name: '新しい名前' })).toBeVisible()

    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: '検索と操作' })
    await expect(palette.getByRole('combobox')).toBeFocused()
    await ime.begin(palette.getByRole('combobox'), 'ようやく', '要約')
    await ime.processedEnter()
    await ime.confirm('要約')
    await ime.pass()
    await expect(palette.getByRole('option', { name: '要約' }).first()).toBeVisible()
    await page.keyboard.press('Enter')
    await expect(palette).toHaveCount(0)
    await expect(page.getByRole('heading', { level: 1, name: '要約' })).toBeVisible()
  })
})

test.describe('the keyboard', () => {
  test('skips the header to the content, and reaches the composer by Tab', async ({ chat, page }) => {
    await openSkills(page)
    const skip = page.getByRole('button', { name: '本文へ移動' })
    await page.keyboard.press('Tab')
    await expect(skip).toBeFocused()
    await expect(skip).toBeInViewport()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('main')).toBeFocused()

    await chat.open()
    await expect(chat.composer).toBeFocused()
    await skip.focus()
    const reached = () => chat.composer.evaluate((element) => element === document.activeElement)
    for (let presses = 0; presses < 60 && !(await reached()); presses++) {
      await page.keyboard.press('Tab')
      const { width, height } = await page.evaluate(() => {
        const focused = document.activeElement ?? document.body
        return focused.getBoundingClientRect().toJSON() as { width: number; height: number }
      })
      expect(width * height, 'what has the focus can be seen').toBeGreaterThan(0)
    }
    await expect(chat.composer).toBeFocused()
  })

  test('opens the list of shortcuts, the palette and the composer', async ({ chat, page }) => {
    await openSkills(page)
    await page.context().setOffline(true)
    await page.keyboard.press('?')
    await expect(page.getByText('読み込みに失敗しました')).toBeVisible()
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await page.context().setOffline(false)
    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'キーボードショートカット' })
    await expect(list.getByText('検索と操作を開く')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(list).toHaveCount(0)

    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: '検索と操作' })
    await palette.getByRole('combobox').fill('翻訳')
    await expect(palette.getByRole('option', { selected: true })).toContainText('翻訳')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: '翻訳' })).toBeVisible()

    await chat.open()
    await page.getByRole('heading', { level: 1 }).click()
    await expect(chat.composer).not.toBeFocused()
    await page.keyboard.press('/')
    await expect(chat.composer).toBeFocused()
    await expect(chat.composer).toHaveValue('')
    await page.keyboard.press('Control+Shift+O')
    await expect(page).toHaveURL(/\/home\/skill\/[^/]+$/)
  })

  test('restores the focus after the palette', async ({ page }) => {
    await openSkills(page)
    const search = page.getByRole('button', { name: '検索', exact: true })
    await search.focus()
    for (let times = 0; times < 2; times++) {
      await page.keyboard.press('Enter')
      await expect(page.getByRole('combobox')).toBeFocused()
      await page.keyboard.press('Escape')
      await expect(search).toBeFocused()
    }
  })

  test('is in the composer after a thread is opened', async ({ chat, page, account, model, question }) => {
    await account.reset()
    model.script(question, { text: '糸の回答です。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.threadId()
    await account.newThread('汎用チャット', '別のチャット')
    await page.reload()
    const list = page.getByRole('navigation', { name: 'チャット', exact: true })
    const other = list.getByRole('link', { name: '別のチャット' })
    const first = list.getByRole('link').filter({ hasNotText: '別のチャット' }).last()
    const opened = async (title: RegExp) => {
      await expect(page).toHaveTitle(title)
      await expect(chat.composer).toBeFocused()
    }
    await other.click()
    await opened(/別のチャット/)
    await first.click()
    await expect(chat.answer).toContainText('糸の回答です。')
    await expect(chat.composer).toBeFocused()
    await other.focus()
    await page.keyboard.press('Enter')
    await opened(/別のチャット/)

    await openSkills(page)
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: '検索と操作' })
    await palette.getByRole('combobox').fill('別のチャット')
    await expect(palette.getByRole('option', { selected: true })).toContainText('別のチャット')
    await page.keyboard.press('Enter')
    await opened(/別のチャット/)

    await openSkills(page)
    await page.setViewportSize({ width: 800, height: 800 })
    await page.getByRole('button', { name: 'チャット一覧を開く' }).click()
    await page
      .getByRole('dialog', { name: 'チャット', exact: true })
      .getByRole('link', { name: '別のチャット' })
      .click()
    await opened(/別のチャット/)
  })

  test('is in the composer after a button that disappears when clicked', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, { chars: 4000, tokens_per_second: 4000 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.answer.getByRole('button', { name: '回答を再生成' }).press('Enter')
    await expect(chat.composer).toBeFocused()
    await chat.finished()
    await expect.poll(() => model.asked(question)).toBe(2)
    await expect(chat.composer).toBeFocused()

    await chat.turns.first().hover()
    const toEnd = page.getByRole('button', { name: '最新へ' })
    await expect(async () => {
      await page.mouse.wheel(0, -2000) // It has no effect while the list still scrolls to the hovered question.
      await expect(toEnd).toBeVisible({ timeout: 2000 })
    }).toPass()
    await toEnd.press('Enter')
    await expect(toEnd).toHaveCount(0)
    await expect(chat.composer).toBeFocused()
  })

  test('stops an answer by Esc, and restores the focus', async ({ chat, page, model, account, question }) => {
    model.script(question, { chars: 600, tokens_per_second: 60 })
    const middle = model.pause(question, 40)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await page.keyboard.press('Escape')
    await chat.finished()
    await expect(chat.answer).toContainText('停止しました')
    await expect(chat.composer).toBeFocused()
    const stored = (await account.messages(await chat.threadId())).at(-1)
    expect(stored?.finish_reason).toBe('stopped')
    middle.release()
  })
})

test.describe('the keyboard alone', () => {
  test.use({ who: null })

  test('is enough to sign in, ask with a skill, stop, copy, open the pages and sign out', async ({
    chat,
    page,
    model,
    question,
  }) => {
    // The focus and the selection are visible without backgrounds and shadows, too.
    await page.emulateMedia({ forcedColors: 'active' })
    model.script(question, { chars: 600, tokens_per_second: 60 })
    const middle = model.pause(question, 40)
    await page.goto('/login')
    await expect(page.getByLabel('メールアドレス')).toBeFocused()
    await page.keyboard.type(emails.user)
    await page.keyboard.press('Enter')
    await expect(page.getByLabel('パスワード', { exact: true })).toBeFocused()
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')

    await expect(card(page, '汎用チャット')).toBeVisible()
    await goTo(page, card(page, '汎用チャット'))
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: '汎用チャット' })).toBeVisible()
    await expect(chat.composer).toBeFocused()
    await page.keyboard.type(question)
    await page.keyboard.press('Enter')
    await middle.reached
    await goTo(page, chat.stop)
    await page.keyboard.press('Enter')
    await chat.finished()
    middle.release()
    await expect(chat.composer).toBeFocused()
    await goTo(page, chat.answer.getByRole('button', { name: 'コピー', exact: true }), 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).not.toBe('')

    const places = page.getByRole('navigation', { name: 'メニュー', exact: true })
    await goTo(page, places.getByRole('link', { name: 'ファイル' }), 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: 'ファイル' })).toBeVisible()
    await expect(places.locator('[aria-current="page"]')).toHaveCSS('outline-style', 'solid')
    const menu = page.getByRole('banner').getByRole('button', { name: /さんのメニュー$/ })
    await chooseItem(page, menu, 'アカウント設定')
    await expect(page.getByRole('heading', { level: 1, name: 'パスワードの変更' })).toBeVisible()
    await chooseItem(page, menu, 'ログアウト')
    await expect(page.getByRole('heading', { level: 1, name: 'ログアウトしました' })).toBeVisible()
  })
})

/** Presses Tab until an element has the focus, and checks that its outline is visible. */
async function goTo(page: Page, element: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const reached = () => element.evaluate((node) => node === document.activeElement)
  for (let presses = 0; presses < 100 && !(await reached()); presses++) await page.keyboard.press(key)
  await expect(element).toBeFocused()
  await expect(element).toHaveCSS('outline-style', 'solid')
}

/** Opens a menu and chooses an item by the arrow keys. */
async function chooseItem(page: Page, menu: Locator, name: string): Promise<void> {
  await goTo(page, menu, 'Shift+Tab')
  await page.keyboard.press('Enter')
  const item = page.getByRole('menuitem', { name, exact: true })
  const reached = () => item.evaluate((node) => node === document.activeElement)
  for (let presses = 0; presses < 20 && !(await reached()); presses++) await page.keyboard.press('ArrowDown')
  await expect(item).toHaveCSS('outline-style', 'solid')
  await page.keyboard.press('Enter')
}
