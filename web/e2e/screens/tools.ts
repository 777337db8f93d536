import { expect, testOn } from '../support/test'
import { type CallParams, type OfferedTool, ToolServer } from '../support/toolServer'
import { Tsumugi } from '../support/tsumugi'
import * as sample from './sample'
import { at, shoot } from './shoot'

const test = testOn('tools', (model) => Tsumugi.start(model, { TSUMUGI_TOOL_HOSTS: '127.0.0.1' }))

test.use({ who: 'admin' })

test('tools of a server, and a call that waits for approval', async ({ page, account, chat, model }) => {
  const server = new ToolServer(
    sample.tools.map((tool): OfferedTool => {
      const properties = Object.fromEntries(tool.inputs.map((name) => [name, { type: 'string' }]))
      return { ...tool, inputSchema: { type: 'object', properties } }
    }),
    ({ requestState }: CallParams) =>
      requestState === undefined
        ? {
            resultType: 'input_required',
            content: [],
            requestState: 'deal',
            inputRequests: { deal: { method: 'elicitation/create', params: sample.dealForm } },
          }
        : { content: [] },
  )
  const url = await server.start()
  const made = { key: 'crm', name: '顧客管理', url, auth: 'none' }
  const idOf = async (response: Response) => ((await response.json()) as { id: string }).id
  const id = await idOf(await account.call('POST', '/v1/tool-server', made))
  await account.call('POST', `/v1/tool-server/${id}/discover`)
  await account.call('PUT', `/v1/tool-server/${id}/tool/crm__find_customer`, {
    rule: 'allow',
    read_only: true,
  })
  await shoot(page, {
    name: 'admin-tool',
    open: async () => {
      await at('/admin/tool', 'ツール')(page)
      await expect(page.getByText('crm__find_customer')).toBeVisible()
    },
  })
  const category = (await account.skill('汎用チャット')).category_id
  const created = await account.call('POST', '/v1/skill', {
    request_id: crypto.randomUUID(),
    audience: 'self',
    content: {
      name: '営業の窓口',
      description: '顧客管理に記録します。',
      icon: 'chat',
      category_id: category,
      prompt: '顧客管理を使う。',
      tools: ['crm__find_customer', 'crm__create_deal'],
    },
  })
  model.script(sample.toolQuestion, {
    text: sample.toolAnswer,
    title: '織機の商談の登録',
    tool_calls: [[{ name: 'crm__create_deal', arguments: JSON.stringify(sample.deal) }]],
  })
  await page.goto(`/home/skill/${await idOf(created)}`)
  await chat.ask(sample.toolQuestion)
  await shoot(page, {
    name: 'chat-approval',
    open: () => expect(page.getByRole('region', { name: /商談の登録の実行を承認しますか？/ })).toBeVisible(),
  })
  await page.getByRole('button', { name: '承認', exact: true }).click()
  await shoot(page, {
    name: 'chat-input',
    open: async () => {
      const card = page.getByRole('region', { name: '「顧客管理」が入力を求めています' })
      await card.evaluate((element) => element.scrollIntoView({ block: 'start' }))
    },
  })
  server.stop()
})
