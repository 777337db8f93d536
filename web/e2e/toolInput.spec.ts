import type { Locator, Page } from '@playwright/test'
import type { Account } from './support/account'
import type { Chat } from './support/chat'
import { inspect } from './support/inspect'
import type { Model } from './support/model'
import { expect, testOn } from './support/test'
import { type CallParams, type OfferedTool, ToolServer } from './support/toolServer'
import { Tsumugi } from './support/tsumugi'

const test = testOn('tool-input', (model) => Tsumugi.start(model, { TSUMUGI_TOOL_HOSTS: '127.0.0.1' }))

test.use({ who: 'admin' })

const book: OfferedTool = {
  name: 'book',
  title: '会議室の予約',
  description: '会議室を予約します。',
  inputSchema: { type: 'object', properties: {} },
}

const guest = {
  type: 'object',
  required: ['people', 'room', 'gear'],
  properties: {
    people: { type: 'integer', title: '人数', description: '本人を含みます。', minimum: 1, maximum: 8 },
    room: {
      type: 'string',
      title: '部屋',
      oneOf: [
        { const: 'a', title: '会議室A' },
        { const: 'b', title: '会議室B' },
      ],
    },
    gear: {
      type: 'array',
      title: '備品',
      description: '当日、部屋に用意します。',
      minItems: 1,
      maxItems: 2,
      items: {
        anyOf: [
          { const: 'board', title: 'ホワイトボード' },
          { const: 'mic', title: 'マイク' },
          { const: 'camera', title: 'カメラ' },
        ],
      },
    },
    phone: { type: 'string', title: '内線', description: '4桁の数字です。', pattern: '^[0-9]{4}$' },
    mail: { type: 'string', title: '連絡先', format: 'email' },
    screen: { type: 'boolean', title: '画面を使う', default: true },
  },
}

/** Asks for a form, and then for a confirmation. */
function bookIn(calls: CallParams[]) {
  const ask = (id: string, message: string, requestedSchema: object) => ({
    resultType: 'input_required',
    content: [],
    requestState: id,
    inputRequests: {
      [id]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } },
    },
  })
  return (params: CallParams) => {
    calls.push(params)
    if (params.requestState === undefined)
      return ask('guest', '予約に必要なことを入力してください。\n<b>太字ではありません</b>', guest)
    if (params.requestState === 'guest' && params.inputResponses?.guest?.action === 'accept')
      return ask('sure', 'この内容で予約しますか。', { type: 'object', properties: {} })
    return { content: [{ type: 'text', text: `終了 ${JSON.stringify(params.inputResponses)}` }] }
  }
}

/** Asks a question to a skill with a tool that asks for input, and returns the card. */
async function askForRoom(
  { page, account, chat, model }: { page: Page; account: Account; chat: Chat; model: Model },
  server: ToolServer,
  key: string,
  question: string,
): Promise<Locator> {
  const idOf = async (response: Response) => ((await response.json()) as { id: string }).id
  const url = await server.start()
  const id = await idOf(
    await account.call('POST', '/v1/tool-server', { key, name: '施設の予約', url, auth: 'none' }),
  )
  await account.call('POST', `/v1/tool-server/${id}/discover`)
  await account.call('PUT', `/v1/tool-server/${id}/tool/${key}__book`, { rule: 'allow' })
  const created = await account.call('POST', '/v1/skill', {
    request_id: crypto.randomUUID(),
    audience: 'self',
    content: {
      name: `予約係${key}`,
      description: '会議室を予約します。',
      icon: 'chat',
      category_id: (await account.skill('汎用チャット')).category_id,
      prompt: '会議室を予約する。',
      tools: [`${key}__book`],
    },
  })
  model.script(question, {
    text: '予約の結果です。',
    tool_calls: [[{ name: `${key}__book`, arguments: '{}' }]],
  })
  await page.goto(`/home/skill/${await idOf(created)}`)
  await chat.ask(question)
  return card(page)
}

const card = (page: Page) => page.getByRole('region', { name: '「施設の予約」が入力を求めています' })

test('a tool asks for input in two rounds, and a reload keeps the form', async ({
  page,
  account,
  chat,
  model,
  question,
}) => {
  const calls: CallParams[] = []
  const server = new ToolServer([book], bookIn(calls))
  const shown = await askForRoom({ page, account, chat, model }, server, 'rooms', question)
  await expect(shown.getByText('<b>太字ではありません</b>')).toBeVisible()
  await expect(page.getByText('会議室の予約への入力を待っています')).toBeVisible()
  await expect(page.getByRole('region', { name: '対応待ち' })).toContainText('会議室の予約')
  await inspect(page, {
    name: '/home/chat waiting for input',
    open: async (at) => {
      await at.goto(page.url())
      await expect(card(at)).toBeVisible()
    },
  })
  await page.reload()
  const gear = shown.getByRole('group', { name: '備品' })
  await expect(gear).toHaveAccessibleDescription(/当日、部屋に用意します。\s*1〜2個選択してください。/)
  await test.step('the fields have the order of the server', async () => {
    const names = await shown
      .locator('[name^="guest."]')
      .evaluateAll((all) => all.map((e) => e.getAttribute('name')))
    expect([...new Set(names)]).toEqual(
      ['people', 'room', 'gear', 'phone', 'mail'].map((name) => `guest.${name}`),
    )
  })
  await expect(shown.getByRole('checkbox', { name: '画面を使う' })).toBeChecked()
  await test.step('invalid values are named', async () => {
    await shown.getByRole('button', { name: '送信' }).click()
    await expect(shown.getByText('入力してください。', { exact: true })).toBeVisible()
    await expect(gear.getByText('1個以上選択してください。')).toBeVisible()
    await expect(shown.getByRole('textbox', { name: '人数' })).toBeFocused()
    await shown.getByRole('textbox', { name: '人数' }).fill('９')
    await expect(shown.getByText('8以下の数を入力してください。')).toBeVisible()
    await shown.getByRole('textbox', { name: '人数' }).fill('４')
    await shown.getByLabel('部屋').selectOption('会議室B')
    await gear.getByRole('checkbox', { name: 'カメラ' }).check()
    await gear.getByRole('checkbox', { name: 'マイク' }).check()
    await gear.getByRole('checkbox', { name: 'ホワイトボード' }).check()
    await expect(gear.getByText('選択できるのは2個までです（現在3個）。')).toBeVisible()
    await gear.getByRole('checkbox', { name: 'ホワイトボード' }).uncheck()
    await shown.getByRole('textbox', { name: /内線/ }).fill('四桁')
    await shown.getByRole('textbox', { name: /連絡先/ }).fill('山田')
    await shown.getByRole('button', { name: '送信' }).click()
    await expect(shown.getByRole('textbox', { name: /内線/ })).toHaveAccessibleDescription(
      /サーバーが指定した形式に合いません。/,
    )
    await expect(shown.getByText('メールアドレスを入力してください。')).toBeVisible()
  })
  await shown.getByRole('textbox', { name: /内線/ }).fill('0123')
  await shown.getByRole('textbox', { name: /連絡先/ }).fill('')
  await shown.getByRole('button', { name: '送信' }).click()
  await expect(shown.getByText('この内容で予約しますか。')).toBeVisible()
  await shown.getByRole('button', { name: '送信' }).click()
  await expect(chat.answer.getByText('予約の結果です。')).toBeVisible()
  await chat.finished()
  await expect(shown).toHaveCount(0)
  await chat.answer.getByText('会議室の予約を使用').click()
  await expect(chat.answer.getByText('入力済み')).toBeVisible()
  expect(calls.map(({ requestState, inputResponses }) => ({ requestState, inputResponses }))).toEqual([
    {},
    {
      requestState: 'guest',
      inputResponses: {
        guest: {
          action: 'accept',
          content: { people: 4, room: 'b', gear: ['mic', 'camera'], phone: '0123', screen: true },
        },
      },
    },
    { requestState: 'sure', inputResponses: { sure: { action: 'accept' } } },
  ])
  server.stop()
})

test('a person declines to enter something', async ({ page, account, chat, model, question }) => {
  const calls: CallParams[] = []
  const server = new ToolServer([book], bookIn(calls))
  const shown = await askForRoom({ page, account, chat, model }, server, 'halls', question)
  await shown.getByRole('button', { name: '断る' }).click()
  await chat.finished()
  await chat.answer.getByText('会議室の予約を使用').click()
  await expect(chat.answer.getByText('入力せず')).toBeVisible()
  expect(calls[1]?.inputResponses).toEqual({ guest: { action: 'decline' } })
  expect(calls).toHaveLength(2)
  server.stop()
})
