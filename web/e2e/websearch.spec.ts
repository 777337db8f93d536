import type { Locator } from '@playwright/test'
import { breaches } from './support/inspect'
import { readsFakePages } from './support/paths'
import { searching as test } from './support/search'
import { expect, testOn } from './support/test'
import { Tsumugi } from './support/tsumugi'

/** The same without a model. */
const offline = test.extend({
  server: [
    async ({ programs, search }, use) =>
      use(
        await programs.get('searching offline', () => Tsumugi.start(null, search.settings, readsFakePages)),
      ),
    { scope: 'test', timeout: 300_000 },
  ],
})

/** A server whose search is unreachable: nothing listens on its port. */
const away = testOn('search away', (model) =>
  Tsumugi.start(model, { TSUMUGI_SEARCH_URL: 'http://127.0.0.1:9' }),
)

const marks = (answer: Locator): Locator => answer.locator('a[data-citation]')
const sources = (answer: Locator): Locator => answer.getByRole('group', { name: '出典' })

test('a search shows its steps, and its answer links to the cited pages', async ({
  page,
  chat,
  model,
  search,
  question,
}) => {
  model.script(
    question,
    { text: 'つむぎ県 最低賃金' },
    { text: '時間額**1,142円**です[1]。引上げ額は58円です[2][9]。' },
  )
  const [asked] = model.pauses(question, 0)
  await chat.open('ウェブ検索')
  await chat.ask(question)
  await asked?.reached
  await expect(chat.answer).toContainText('検索語を選んでいます')
  const written = model.pause(question, 3)
  asked?.release()
  await written.reached
  await expect(chat.answer).toContainText('2ページを確認')
  written.release()
  await chat.finished()
  await expect(chat.answer).toContainText('1,142円')
  await expect(chat.answer).not.toContainText('[9]')

  // The citations and the list below link to the pages, in a tab without a referrer.
  await expect(marks(chat.answer)).toHaveCount(2)
  const first = marks(chat.answer).first()
  await expect(first).toHaveAttribute('href', `${search.url}/pages/minimum-wage`)
  await expect(first).toHaveAttribute('rel', 'noopener noreferrer nofollow')
  await first.hover()
  await expect(page.getByRole('tooltip')).toContainText('127.0.0.1 2026年9月1日')
  await expect(page.getByRole('tooltip')).toContainText('2026年10月1日から時間額1,142円に改定')
  await page.mouse.move(0, 0)
  const list = sources(chat.answer).getByRole('link')
  await expect(list).toHaveCount(2)
  await expect(list.first()).toHaveAccessibleName(
    /^出典1、つむぎ県の最低賃金 .*2026年9月1日、新しいタブで開きます$/,
  )
  await expect(list.nth(1)).toContainText('最低賃金の改定額を答申 - つむぎ新聞')
  expect(await breaches(page)).toEqual([])
  const [opened] = await Promise.all([page.waitForEvent('popup'), list.nth(1).click()])
  await expect(opened.getByRole('heading', { level: 1 })).toHaveText('最低賃金の改定額を答申')
  expect(await opened.evaluate(() => [document.referrer, window.opener])).toEqual(['', null])
  await opened.close()

  // Copied texts contain the URLs.
  expect(await chat.copied()).toContain(
    `[1] つむぎ県の最低賃金 | つむぎ労働局 127.0.0.1 2026年9月1日 ${search.url}/pages/minimum-wage`,
  )
  // A reload has the same.
  await page.reload()
  await expect(marks(chat.answer)).toHaveCount(2)
  await expect(sources(chat.answer).getByRole('link').first()).toContainText('127.0.0.1 2026年9月1日')
})

test('a shared search links to its pages, too', async ({ page, chat, model, search, question }) => {
  model.script(question, { text: '電子帳簿保存法' }, { text: '保存期間は、原則として7年です[1]。' })
  await chat.open('ウェブ検索')
  await chat.ask(question)
  await chat.finished()
  await page.getByRole('button', { name: 'チャットのメニュー' }).click()
  await page.getByRole('menuitem', { name: '共有' }).click()
  const dialog = page.getByRole('dialog', { name: 'チャットを共有' })
  await dialog.getByRole('button', { name: 'リンクを作成' }).click()
  await page.goto(await dialog.getByLabel('共有リンク').inputValue())
  const link = page.getByRole('list', { name: '出典' }).getByRole('link')
  await expect(link).toHaveAttribute('href', `${search.url}/pages/books`)
  await expect(link).toHaveAttribute('rel', 'noopener noreferrer nofollow')
})

test('R90: pages that are internal, never respond or never end do not delay an answer', async ({
  chat,
  model,
  question,
}) => {
  model.script(
    question,
    { text: '転送の試験\n応答しない試験\n終わらない試験' },
    { text: '大きいページの始まりです[1]。' },
  )
  await chat.open('ウェブ検索')
  await chat.ask(question)
  await expect(chat.answer).toContainText(/ページを確認中/)
  await chat.finished()
  await expect(chat.answer).toContainText('大きいページの始まりです')
  for (const link of await sources(chat.answer).getByRole('link').all())
    expect(await link.getAttribute('href')).not.toContain('/leads/')
})

offline(
  'without a model, pages are quoted, in Shift_JIS and from a PDF file too',
  async ({ chat, search }) => {
    await chat.open('ウェブ検索')
    await chat.ask('電子帳簿保存法で、保存期間は何年ですか？')
    await chat.finished()
    await expect(chat.answer).toContainText('保存期間は、原則として7年です。')
    await expect(marks(chat.answer).first()).toHaveAttribute('href', `${search.url}/pages/books`)
    await chat.ask('生成AIに個人情報を入力するとき、承認は必要ですか？')
    await chat.finished()
    await expect(chat.answer).toContainText('事前に情報管理責任者の承認を得る。')
    await expect(marks(chat.answer).first()).toHaveAttribute('href', `${search.url}/pages/ai-rules.pdf`)
  },
)

away(
  'R90: with the search away, an answer says so within ten seconds, and nothing from memory',
  async ({ chat, model, question }) => {
    model.script(question, { text: 'つむぎ県 最低賃金' }, { text: '時間額999円です。' })
    await chat.open('ウェブ検索')
    const began = Date.now()
    await chat.ask(question)
    await expect(chat.answer).toContainText('検索サーバーに接続できませんでした。')
    expect(Date.now() - began).toBeLessThan(10_000)
    await expect(chat.answer).not.toContainText('999円')
    expect(model.asked(question)).toBe(1)
    await expect(chat.answer.getByRole('button', { name: 'やり直す' })).toBeVisible()
  },
)
