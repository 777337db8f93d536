import { plainSkill } from './support/chat'
import { expect, test } from './support/test'

test.describe('the search in threads', () => {
  test('finds a message far up in a thread, and leads there', async ({ page, account, chat }) => {
    await account.reset()
    const thread = await account.newThread(plainSkill, '防災訓練の準備')
    await account.ask(thread.id, '避難ルートの集合場所は、駐車場の東側でよいですか')
    // More than a page of messages follows it.
    for (let i = 1; i <= 12; i++) await account.ask(thread.id, `確認その${i}`)
    for (let i = 1; i <= 45; i++) await account.newThread(plainSkill, `別件${i}`)
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    const search = page.getByRole('textbox', { name: 'チャットを検索' })

    // Hiragana and half width match katakana and full width. The match is shown with its words marked.
    await search.fill('避難るーと')
    await expect(list.getByRole('link')).toHaveCount(1)
    await expect(list.getByRole('link')).toContainText('防災訓練の準備')
    await expect(list.locator('mark')).toHaveText('避難ルート')
    await list.getByRole('link').click()
    await expect(page).toHaveURL(new RegExp(`/chat/${thread.id}#[0-9a-f-]{36}$`))
    await expect(chat.questions.first()).toContainText('避難ルートの集合場所')
    await expect(chat.questions.first()).toBeInViewport()

    await search.fill('見つからない言葉')
    await expect(list.getByText('一致するチャットはありません。')).toBeVisible()
    await search.press('Escape')
    await expect(list.getByRole('heading', { name: '今日' })).toBeVisible()
  })

  test('finds in the palette a thread that the list has not loaded', async ({ page, account, chat }) => {
    await account.reset()
    const thread = await account.newThread(plainSkill, '購買の相談')
    await account.ask(thread.id, '複合機の見積書はいつ届きますか')
    for (let i = 1; i <= 45; i++) await account.newThread(plainSkill, `別件${i}`)
    await page.goto('/home/skill')
    await page.getByRole('navigation', { name: 'チャット' }).getByRole('link').first().waitFor()
    await page.keyboard.press('ControlOrMeta+k')
    const palette = page.getByRole('dialog', { name: '検索と操作' })
    await palette.getByRole('combobox').fill('複合機 見積')
    const option = palette.getByRole('option', { name: /購買の相談/ })
    await expect(option.locator('mark')).toHaveText(['複合機', '見積'])
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(new RegExp(`/chat/${thread.id}#`))
    await expect(chat.questions.first()).toBeInViewport()
  })

  test('reports a failure, and retries', async ({ page, account }) => {
    await account.reset()
    await account.newThread(plainSkill, '備品の購入')
    await page.goto('/home/skill')
    const list = page.getByRole('navigation', { name: 'チャット' })
    await list.getByRole('link').first().waitFor()
    await page.route('**/v1/thread?*q=*', (route) => route.fulfill({ status: 400, json: {} }))
    await page.getByRole('textbox', { name: 'チャットを検索' }).fill('備品')
    await expect(list.getByRole('alert')).toContainText('検索できませんでした。')
    await page.unroute('**/v1/thread?*q=*')
    await list.getByRole('button', { name: 'やり直す' }).click()
    await expect(list.getByRole('link')).toHaveText('備品の購入')
  })
})
