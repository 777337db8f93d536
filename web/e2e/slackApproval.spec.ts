import { buildAsking } from './support/asking'
import { Slack, type SlackMessage, startWithSlack, testWithSlack } from './support/slack'
import { expect } from './support/test'

// A server whose tools all need an approval, and which is connected to the workspace.
const test = testWithSlack('slack approval', (model) => {
  const { clientId, clientSecret, signingSecret, botToken } = Slack.app
  const env = {
    SLACK_BOT_TOKEN: botToken,
    SLACK_SIGNING_SECRET: signingSecret,
    SLACK_CLIENT_ID: clientId,
    SLACK_CLIENT_SECRET: clientSecret,
  }
  return startWithSlack(model, env, buildAsking())
})
test.use({ who: 'admin' })

const content = (message: SlackMessage | undefined) => JSON.stringify(message?.Blocks ?? '')

test('a call is approved with a button in the thread, or in the app', async ({
  page,
  account,
  slack,
  model,
}) => {
  await slack.say(Slack.hanako.id, '@Tsumugi こんにちは')
  await page.goto(await slack.invitation(Slack.hanako.id))
  await page.getByRole('button', { name: 'Slackと連携する' }).click()
  await slack.answer(page, Slack.hanako.id)
  await page.waitForURL('**/setting/slack?result=linked')
  const categories = (await (await account.call('GET', '/v1/category?all=true')).json()) as {
    items: { id: string }[]
  }
  await account.call('POST', '/v1/skill', {
    request_id: crypto.randomUUID(),
    audience: 'self',
    content: {
      name: '計算係',
      description: '金額を計算します。',
      icon: 'report',
      category_id: categories.items[0]?.id,
      prompt: '金額を計算する。',
      tools: ['calculate'],
    },
  })

  /** Asks a question whose answer calls the tool, and returns the message with the buttons. */
  const ask = async (question: string) => {
    const expression = '1,200千円 + 2百万円'
    model.script(question, {
      text: '合計は320万円です。',
      tool_calls: [[{ name: 'calculate', arguments: JSON.stringify({ expression }) }]],
    })
    await slack.say(Slack.hanako.id, `@Tsumugi 計算係: ${question}`)
    let found: SlackMessage | undefined
    await expect
      .poll(async () => {
        found = (await slack.messages()).find((message) => content(message).includes('tsumugi_approve'))
        return content(found)
      })
      .toContain(expression)
    return found as SlackMessage
  }
  /** Waits until the message shows the decision, and has no buttons. */
  const shows = async ({ TS }: SlackMessage, decision: string) => {
    const shown = async () => content((await slack.messages()).find((message) => message.TS === TS))
    await expect.poll(shown).toContain(decision)
    expect(await shown()).not.toContain('button')
  }

  await test.step('only the person who asked decides', async () => {
    const request = await ask('東京の金額を計算してください。')
    expect(content(request)).toContain('「計算」の実行を承認しますか？')
    await slack.press(Slack.taro.id, request, 'tsumugi_approve')
    await expect
      .poll(
        async () => (await slack.messages()).filter((message) => message.For === Slack.taro.id).at(-1)?.Text,
      )
      .toContain('質問した人だけ')
    await slack.press(Slack.hanako.id, request, 'tsumugi_approve')
    await shows(request, '承認しました')
    await expect
      .poll(async () =>
        (await slack.messages()).some((m) => `${m.Markdown}${content(m)}`.includes('320万円')),
      )
      .toBe(true)
  })

  await test.step('a decision in the app changes the message', async () => {
    const request = await ask('大阪の金額を計算してください。')
    const address = content(request).match(/https?:[^"]*\/chat\/[\w-]+/)?.[0] ?? ''
    await page.goto(address)
    const card = page.getByRole('region', { name: '計算の実行を承認しますか？' })
    await card.getByRole('button', { name: '拒否' }).click()
    await card.getByRole('button', { name: '拒否する' }).click()
    await shows(request, '拒否しました')
  })
})
