import type { Locator, Page } from '@playwright/test'
import { startAsking } from './support/asking'
import type { Chat } from './support/chat'
import { breaches, inspect } from './support/inspect'
import type { Directive, Model } from './support/model'
import { expect, testOn } from './support/test'

const test = testOn('approval', startAsking)

/** Asks a question to a skill with tools. The model calls the tool. */
async function askWithCall(
  page: Page,
  chat: Chat,
  model: Model,
  question: string,
  pace: Pick<Directive, 'call_ms'> = {},
): Promise<Locator> {
  model.script(question, {
    ...pace,
    text: '合計は320万円です。',
    tool_calls: [[{ name: 'calculate', arguments: JSON.stringify({ expression: '1,200千円 + 2百万円' }) }]],
  })
  await page.goto('/home/skill/new')
  await page.getByRole('textbox', { name: '名前', exact: true }).fill(`計算係${question.slice(-8, -2)}`)
  await page.getByRole('textbox', { name: '説明' }).fill('金額を計算します。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('金額を計算する。')
  await page.getByRole('group', { name: 'ツール' }).getByRole('checkbox', { name: /計算/ }).check()
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page).toHaveURL(/\/edit$/)
  await page.goto(page.url().replace(/\/edit$/, ''))
  await chat.ask(question)
  return card(page)
}

const card = (page: Page) => page.getByRole('region', { name: '計算の実行を承認しますか？' })
const sidebar = (page: Page) => page.getByRole('region', { name: '対応待ち' })

test('a call is approved in one of two tabs, after a reload', async ({
  page,
  chat,
  model,
  question,
  device,
}) => {
  const shown = await askWithCall(page, chat, model, question)
  await expect(shown.getByText('1,200千円 + 2百万円', { exact: true })).toBeVisible()
  await expect(sidebar(page)).toContainText('1')
  await page.reload()
  await expect(shown).toBeVisible()
  const other = await device()
  await other.goto(page.url())
  await expect(card(other)).toBeVisible()
  await inspect(page, {
    name: '/home/chat waiting for approval',
    open: async (at) => {
      await at.goto(page.url())
      await expect(card(at)).toBeVisible()
    },
  })
  await card(other).getByRole('button', { name: '承認', exact: true }).press('Enter')
  await expect(chat.answer.getByText('合計は320万円です。')).toBeVisible()
  await chat.finished()
  await chat.in(other).finished()
  for (const at of [page, other]) {
    await expect(card(at)).toHaveCount(0)
    await expect(sidebar(at)).toHaveCount(0)
  }
  await chat.answer.getByText('計算を使用').click()
  await expect(chat.answer.getByText('承認済み')).toBeVisible()
})

test('a refusal has a reason', async ({ page, chat, model, question }) => {
  const shown = await askWithCall(page, chat, model, question)
  await shown.getByRole('button', { name: '拒否' }).click()
  await shown.getByRole('textbox', { name: /拒否の理由/ }).fill('金額が違います')
  await shown.getByRole('button', { name: '拒否する' }).click()
  await chat.finished()
  await page.reload()
  await chat.answer.getByText('計算を使用').click()
  await expect(chat.answer.getByText('金額が違います')).toBeVisible()
  await expect(chat.answer.getByText('拒否', { exact: true })).toBeVisible()
})

test('the arguments are changed before the approval', async ({ page, chat, model, question }) => {
  const shown = await askWithCall(page, chat, model, question)
  await shown.getByRole('button', { name: '入力を変更' }).click()
  const field = shown.getByRole('textbox', { name: '入力（JSON）' })
  await field.fill('[1]')
  await expect(shown.getByText('JSONのオブジェクトで入力してください。')).toBeVisible()
  await field.fill('{"expression":"1+1"}')
  await shown.getByRole('checkbox', { name: /このチャットでは今後も許可/ }).check()
  await shown.getByRole('button', { name: '変更して承認' }).click()
  await chat.finished()
  await chat.answer.getByText('計算を使用').click()
  await expect(chat.answer.getByText('1+1 = 2')).toBeVisible()
  // The tool is approved for the chat.
  const again = `${question} もう一度`
  model.script(again, {
    text: '二回目です。',
    tool_calls: [[{ name: 'calculate', arguments: '{"expression":"2+2"}' }]],
  })
  await chat.ask(again)
  await expect(chat.answer.getByText('二回目です。')).toBeVisible()
})

test('a call is shown while the model writes it, and its line stays in its place', async ({
  page,
  chat,
  model,
  question,
}) => {
  const shown = await askWithCall(page, chat, model, question, { call_ms: 4000 })
  const fold = chat.answer.getByRole('group').first()
  const line = fold.locator('summary')
  await expect(line).toHaveText('計算の内容を準備しています')
  await line.click()
  await expect(fold.getByText('1,200', { exact: true })).toBeVisible()
  const before = await line.boundingBox()
  expect(await breaches(page)).toEqual([])
  await expect(shown).toBeVisible()
  await expect(line).toHaveText('計算の承認を待っています')
  await expect(fold.getByText('1,200千円 + 2百万円', { exact: true })).toBeVisible()
  expect((await line.boundingBox())?.height).toBe(before?.height)
  await shown.getByRole('button', { name: '承認', exact: true }).click()
  await chat.finished()
  await expect(chat.answer.getByText('計算を使用')).toBeVisible()
})
