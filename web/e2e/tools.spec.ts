import { inspect } from './support/inspect'
import { expect, test } from './support/test'

const input = '1,200千円 + 2百万円'

test('a skill with tools shows what it has used', async ({
  page,
  chat,
  contexts,
  model,
  question,
  server,
  signIn,
}) => {
  model.script(question, {
    text: '合計は320万円です。',
    tool_calls: [
      [{ name: 'calculate', arguments: JSON.stringify({ expression: input }) }],
      [
        { name: 'calendar', arguments: '{"date":"2026-01-01"}' },
        { name: 'calculate', arguments: '{"expression":"1/0"}' },
      ],
    ],
  })
  await page.goto('/home/skill/new')
  await page.getByRole('textbox', { name: '名前', exact: true }).fill('計算係')
  await page.getByRole('textbox', { name: '説明' }).fill('金額を計算します。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('金額を計算する。')
  const tools = page.getByRole('group', { name: 'ツール' })
  await tools.getByRole('checkbox', { name: /カレンダー/ }).check()
  await tools.getByRole('checkbox', { name: /計算/ }).check()
  await page.getByRole('button', { name: '保存する', exact: true }).click()
  await expect(page).toHaveURL(/\/edit$/)
  await expect(tools.getByRole('checkbox', { checked: true })).toHaveCount(2)

  await page.goto(page.url().replace(/\/edit$/, ''))
  await chat.ask(question)
  await chat.finished()
  const fold = chat.answer.getByRole('group').filter({ hasText: '2つのツールを使用' })
  const check = async () => {
    await expect(chat.answer.getByText('合計は320万円です。')).toBeVisible()
    await expect(fold.getByText('3,200,000')).toBeHidden()
    await fold.getByText('2つのツールを使用').click()
    await expect(fold.getByText(`${input} = 3,200,000`)).toBeVisible()
    await expect(fold.getByText(/2026-01-01（木曜日）/)).toBeVisible()
    await expect(fold.getByText('式', { exact: true })).toHaveCount(2)
    await expect(fold.getByText('0で割ることはできません。')).toBeVisible()
    await expect(fold.getByText('失敗', { exact: true })).toHaveCount(1)
  }
  await check()
  expect(await chat.copied()).toBe('合計は320万円です。')
  const url = page.url()
  await page.reload()
  await check()
  await inspect(page, {
    name: '/home/chat with tools',
    open: async (at) => {
      await at.goto(url)
      await at.getByText('2つのツールを使用').click()
      await expect(at.getByText('0で割ることはできません。')).toBeVisible()
    },
  })
  const administration = await contexts.open(server.url, (await signIn('admin')).storage)
  await administration.goto('/admin/contract')
  const usage = administration.getByRole('region', { name: 'ツール別の利用状況' })
  const row = usage.getByRole('row', { name: /^計算 計算係/ })
  await expect(row.getByRole('cell').nth(1)).toHaveText('2')
  await expect(row.getByRole('cell').nth(2)).toHaveText('1')
  await usage.getByLabel('期間').selectOption({ index: 2 })
  await expect(usage.getByText('この期間に使われたツールはありません。')).toBeVisible()
  await expect(
    administration.getByRole('region', { name: 'モデル別の利用状況' }).getByRole('row'),
  ).not.toHaveCount(0)
})
