import type { Locator, Page } from '@playwright/test'
import type { Chat } from './support/chat'
import { docx, savedDocx } from './support/docx'
import { breaches, overflow } from './support/inspect'
import { test as base, expect, offline as test } from './support/test'

const text = `お知らせ

新しい機能の導入にに伴い、まず最初に、手順をお読みください。
期間は約2時間程度です。社長がおっしゃられた件は、了解しました。
電話番号をを確認してください。`

const corrected = `お知らせ

新しい機能の導入に伴い、最初に、手順をお読みください。
期間は約2時間です。社長がおっしゃった件は、了解しました。
電話番号を確認してください。`

const view = (page: Page): Locator => page.getByRole('region', { name: '校正の結果' })
const items = (page: Page): Locator => page.getByRole('list', { name: '修正案の一覧' }).getByRole('listitem')
/** The buttons of a change, by its description. */
const change = (page: Page, what: string): Locator => page.getByRole('group', { name: what, exact: true })
const button = (within: Locator | Page, name: string): Locator =>
  within.getByRole('button', { name, exact: true })
const stored = (page: Page): Locator => view(page).getByText('保存しました')

/** Fills in the form without its text or file. */
async function begin(chat: Chat): Promise<void> {
  await chat.open('文章校正')
  await chat.page.getByLabel('校正の範囲').selectOption('読みやすさと敬語も整える')
  await chat.page.getByLabel('文体').selectOption('元の文体のまま')
}

/** Proofreads a text. */
async function proofread(chat: Chat, original = text): Promise<void> {
  await begin(chat)
  await chat.page.getByRole('textbox', { name: '文章' }).fill(original)
  await button(chat.page, '実行').click()
}

/** Returns the result that is copied. */
async function result(page: Page): Promise<string> {
  await page.bringToFront()
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await button(page, '校正後の文章をコピー').click()
  const read = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(read).not.toBe('')
  return read()
}

test('changes are accepted and refused, one by one and all, and the result is copied', async ({
  page,
  chat,
}) => {
  await proofread(chat)
  await chat.finished()
  await expect(view(page)).toContainText('修正が必要な箇所が6件あります')
  await expect(items(page)).toHaveCount(6)
  await expect(view(page)).toContainText('AIモデルが未設定のため')
  expect(await result(page)).toBe(corrected)
  expect(await breaches(page)).toEqual([])

  // A refused change keeps the original; an open one is part of the result.
  await button(change(page, '「程度」を削除'), '採用しない').click()
  await button(change(page, '「られ」を「っ」に'), '採用する').click()
  await expect(view(page)).toContainText('採用 1・不採用 1・未確認 4')
  expect(await result(page)).toBe(corrected.replace('約2時間', '約2時間程度'))
  await expect(stored(page)).toBeVisible()

  // Decisions are stored, and appear in another tab.
  await page.reload()
  await expect(view(page)).toContainText('採用 1・不採用 1・未確認 4')
  expect(await result(page)).toBe(corrected.replace('約2時間', '約2時間程度'))

  // All changes at once, with undo. A question is only accepted individually.
  await button(page, 'すべて元に戻す').click()
  expect(await result(page)).toBe(text)
  await button(page, '取り消す').click()
  await expect(view(page)).toContainText('採用 1・不採用 1・未確認 4')
  await button(page, 'すべて採用').click()
  await expect(view(page)).toContainText('採用 5・不採用 0・未確認 1')
  await button(change(page, '「了解しました」'), '確認した').click()
  await expect(view(page)).toContainText('採用 6・不採用 0・未確認 0')
  expect(await result(page)).toBe(corrected)
  // A reload right after it loses nothing.
  await page.reload()
  await expect(view(page)).toContainText('採用 6・不採用 0・未確認 0')
})

test('texts are shown side by side or combined, as chosen before, and changes by kind', async ({
  page,
  chat,
}) => {
  await proofread(chat)
  await chat.finished()
  await expect(view(page).locator('[data-side="before"]').nth(2)).toHaveText(/導入にに伴い/)
  await expect(view(page).locator('[data-side="after"]').nth(2)).toHaveText(/導入に伴い、最初に/)
  await button(page, 'まとめて表示').click()
  await expect(view(page).locator('[data-side="both"] del').first()).toBeVisible()
  await page.reload()
  await expect(button(page, 'まとめて表示')).toHaveAttribute('aria-pressed', 'true')
  await page.getByRole('button', { name: /^冗長 2/ }).click()
  await expect(items(page)).toHaveCount(2)
  await button(page, '冗長をすべて元に戻す').click()
  await expect(view(page)).toContainText('不採用 2')
  await button(page, '並べて表示').click()
  expect(await breaches(page)).toEqual([])
})

test('the keys navigate and decide changes, but not while the user types', async ({ page, chat }) => {
  await proofread(chat)
  await chat.finished()
  await chat.composer.fill('')
  await chat.composer.press('j')
  await expect(chat.composer).toHaveValue('j')
  await chat.composer.fill('')
  await chat.composer.blur()
  await page.keyboard.press('j')
  await expect(items(page).first()).toHaveAttribute('data-selected')
  await expect(view(page).locator('[data-mark][data-selected]').first()).toBeInViewport()
  await page.keyboard.press('a')
  await page.keyboard.press('r')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('k')
  await expect(items(page).nth(2)).toHaveAttribute('data-selected')
  await expect(view(page)).toContainText('採用 1・不採用 1・未確認 4')
  // A click in the text selects the change in the list.
  await view(page).locator('[data-side="after"] [data-mark]').last().click()
  await expect(items(page).last()).toHaveAttribute('data-selected')
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'キーボードショートカット' })).toContainText('修正案を採用')
})

test('a text is saved for Word with tracked changes, or with the decisions applied', async ({
  page,
  chat,
}) => {
  await proofread(chat)
  await chat.finished()
  await button(change(page, '「程度」を削除'), '採用しない').click()
  // The file contains the last decision.
  const tracked = await savedDocx(page, '変更履歴つき')
  expect(tracked.name).toMatch(/（校正）\.docx$/)
  expect(tracked.deleted.length).toBeGreaterThan(0)
  expect(tracked.deleted.join()).not.toContain('程度')
  expect(tracked.text).toBe(corrected.replace('約2時間', '約2時間程度'))
  const applied = await savedDocx(page, '反映済み')
  expect([applied.deleted, applied.inserted]).toEqual([[], []])
  expect(applied.text).toBe(corrected.replace('約2時間', '約2時間程度'))
})

test('a Word file is proofread, and is saved with tracked changes', async ({ page, chat }) => {
  await begin(chat)
  await expect(page.getByText('いずれか必須', { exact: true })).toHaveCount(2)
  await button(page, '実行').click()
  await expect(page.getByText('校正する文章を入力するか、ファイルを選択してください。')).toBeVisible()
  const chooser = page.waitForEvent('filechooser')
  await page
    .locator('form')
    .getByRole('button', { name: /^ファイル/ })
    .click()
  await button(page, 'ファイルをアップロード').click()
  await (await chooser).setFiles({ name: '案内.docx', mimeType: '', buffer: docx(text) })
  await expect(page.locator('form')).toContainText('案内.docx')
  await button(page, '実行').click()
  await chat.finished()
  await expect(items(page)).toHaveCount(6)
  expect(await result(page)).toBe(corrected)
  const tracked = await savedDocx(page, '変更履歴つき')
  expect(tracked.name).toBe('案内（校正）.docx')
  expect(tracked.inserted.length + tracked.deleted.length).toBeGreaterThan(0)
  expect(tracked.text).toBe(corrected)
})

test('a text without mistakes is reported as such', async ({ page, chat }) => {
  await proofread(chat, '会議は明日の午後に開きます。')
  await chat.finished()
  await expect(view(page)).toContainText('修正が必要な箇所はありませんでした。14文字を確認しました。')
  expect(await breaches(page)).toEqual([])
  await expect(button(page, '校正後の文章をコピー')).toHaveCount(0)
})

test('a long list of changes uses the height of the screen, and scrolls inside', async ({ page, chat }) => {
  const lines = Array.from({ length: 30 }, (_, i) => `第${i + 1}項の導入にに伴い、手順をお読みください。`)
  await page.setViewportSize({ width: 1440, height: 900 })
  await proofread(chat, lines.join('\n'))
  await chat.finished()
  await expect(items(page)).toHaveCount(30)
  const list = page.getByRole('list', { name: '修正案の一覧' })
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height })
    // A narrow screen has another list.
    await expect(() => items(page).first().scrollIntoViewIfNeeded()).toPass()
    const [hidden, used] = await list.evaluate((element) => {
      const box = element.closest('[data-scroller]') as HTMLElement
      return [element.scrollHeight - element.clientHeight, element.clientHeight / box.clientHeight]
    })
    expect(hidden, `at ${width}`).toBeGreaterThan(0)
    expect(used, `at ${width}`).toBeGreaterThan(0.5)
    expect(used, `at ${width}`).toBeLessThan(1)
    await items(page).last().scrollIntoViewIfNeeded()
    await expect(items(page).last()).toBeInViewport()
  }
  expect(await breaches(page)).toEqual([])
})

test('a decision in one tab is shown in another', async ({ page, chat, device }) => {
  await proofread(chat)
  await chat.finished()
  await chat.threadId()
  const other = await device()
  await other.goto(page.url())
  await expect(items(other)).toHaveCount(6)
  await button(change(page, '「程度」を削除'), '採用しない').click()
  await expect(view(other)).toContainText('採用 0・不採用 1・未確認 5')
  await button(change(other, '「程度」を削除'), '採用する').click()
  await expect(view(page)).toContainText('採用 1・不採用 0・未確認 5')
})

test('on a phone, a change is decided in a sheet below the text', async ({ page, chat }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await proofread(chat)
  await chat.finished()
  await expect(button(page, '並べて表示')).toHaveCount(0)
  await view(page).locator('[data-mark]').nth(1).click()
  const sheet = page.getByRole('dialog', { name: '修正案（6件中2件目）' })
  await button(sheet, '採用する').click()
  await expect(button(sheet, '採用する')).toHaveAttribute('aria-pressed', 'true')
  await button(sheet, '次の修正案').click()
  await expect(page.getByRole('dialog', { name: '修正案（6件中3件目）' })).toBeVisible()
  expect(await breaches(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(view(page)).toContainText('採用 1・不採用 0・未確認 5')
  expect((await overflow(page)).by).toBe(0)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await breaches(page)).toEqual([])
})

base(
  'changes appear while the answer is written, and what does not fit is left out',
  async ({ page, chat, model, question }) => {
    const original = `${question}\n会議に行ます。資料を持参下さい。`
    const changes = [
      {
        context: '会議に行ます',
        before: '行ます',
        after: '行きます',
        kind: 'typo',
        reason: '送り仮名の抜け',
      },
      { context: '本文にない', before: '見当たらない', after: '別の語', kind: 'typo', reason: '' },
      { context: '持参下さい', before: '下さい', after: 'ください', kind: 'variation', reason: '補助動詞' },
    ].map((change) => ({ ...change, question: false }))
    model.script(question, { text: JSON.stringify({ changes }), token_chars: 4 })
    const written = model.pause(question, 40)
    await proofread(chat, original)
    await written.reached
    await expect(view(page)).toContainText('修正が必要な箇所が1件あります')
    await expect(view(page)).toContainText('資料を持参下さい')
    await expect(button(page, '採用する')).toHaveCount(0)
    // A tab that is opened later has the same.
    await page.reload()
    await expect(view(page)).toContainText('修正が必要な箇所が1件あります')
    written.release()
    await chat.finished()
    await expect(view(page)).toContainText('修正が必要な箇所が2件あります')
    await expect(view(page)).toContainText('本文と照合できなかった1件を除外しました。')
    expect(await result(page)).toBe(`${question}\n会議に行きます。資料を持参ください。`)
  },
)

base('changes that were found before a stop can be decided', async ({ page, chat, model, question }) => {
  const change = { before: '行ます', after: '行きます', kind: 'typo', reason: '', question: false }
  const filler = Array.from({ length: 40 }, () => ({ ...change, context: 'ない', before: 'ない語' }))
  const first = { ...change, context: '会議に行ます' }
  model.script(question, { text: JSON.stringify({ changes: [first, ...filler] }), token_chars: 4 })
  const written = model.pause(question, 60)
  await proofread(chat, `${question}\n会議に行ます。`)
  await written.reached
  await expect(view(page)).toContainText('修正が必要な箇所が1件あります')
  await chat.stop.click()
  await chat.finished()
  written.release()
  await expect(chat.answer).toContainText('回答を停止しました')
  await button(page, '採用する').click()
  await expect(view(page)).toContainText('採用 1・不採用 0・未確認 0')
  await page.reload()
  await expect(view(page)).toContainText('採用 1・不採用 0・未確認 0')
})
