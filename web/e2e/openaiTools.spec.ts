import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai6'
import type OpenAI from 'openai'
import type { Account } from './support/account'
import type { Directive } from './support/model'
import { clientOf, skill, tokenOf } from './support/openai'
import { expect, test } from './support/test'

/** The model calls the tool for two cities, and once more. Its answer consists of the results. */
const directive: Directive = {
  tool_calls: [
    [
      { name: 'weather', arguments: '{"city":"京都"}' },
      { name: 'weather', arguments: '{"city":"奈良"}' },
    ],
    [{ name: 'weather', arguments: '{"city":"大阪"}' }],
  ],
  results: true,
}
const answer = '京都は晴れ\n\n奈良は晴れ\n\n大阪は晴れ'

const weather = ({ city }: { city: string }) => `${city}は晴れ`
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
}

const leave = {
  type: 'object' as const,
  properties: { days: { type: 'number' as const } },
  required: ['days'],
  additionalProperties: false,
}

/** The output of calls in a response. */
function outputsOf(response: OpenAI.Responses.Response): OpenAI.Responses.ResponseInputItem[] {
  return response.output.flatMap((item) =>
    item.type === 'function_call'
      ? { type: 'function_call_output', call_id: item.call_id, output: weather(JSON.parse(item.arguments)) }
      : [],
  )
}

for (const stream of [false, true]) {
  const how = stream ? 'with streams' : 'without streams'

  test(`OpenAI's client runs tools in completions ${how}`, async ({ server, account, model, question }) => {
    model.script(question, directive)
    const client = await clientOf(server.url, account)
    const request = {
      model: skill,
      messages: [{ role: 'user', content: question } as const],
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            description: '天気',
            function: weather,
            parse: (text: string) => JSON.parse(text) as { city: string },
            parameters,
            strict: true,
          },
        },
      ],
    }
    const runner = stream
      ? client.chat.completions.runTools({ ...request, stream: true })
      : client.chat.completions.runTools(request)
    expect(await runner.finalContent()).toBe(answer)
    expect(runner.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(model.asked(question)).toBe(3)
  })

  test(`OpenAI's client runs tools in responses ${how}`, async ({ server, account, model, question }) => {
    model.script(question, directive)
    const client = await clientOf(server.url, account)
    const before = await account.threads()
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }]
    const ask = async () => {
      const request = {
        model: skill,
        input,
        instructions: '短く答えてください。',
        tools: [{ type: 'function', name: 'weather', parameters, strict: true } as const],
      }
      return stream
        ? client.responses.stream(request).finalResponse()
        : client.responses.create({ ...request, stream: false })
    }
    let response = await ask()
    while (outputsOf(response).length > 0) {
      input.push(...(response.output as OpenAI.Responses.ResponseInput), ...outputsOf(response))
      response = await ask()
    }
    expect(response).toMatchObject({ output_text: answer, status: 'completed', store: false })
    expect(model.asked(question)).toBe(3)
    expect(model.instructions(question)).toContain('短く答えてください。')
    expect((await account.threads()).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  })

  for (const form of ['chat', 'responses'] as const) {
    const asked = async (url: string, account: Account) => {
      const { token } = await tokenOf(account, 'chat')
      return {
        model: createOpenAI({ baseURL: `${url}/v1`, apiKey: token })[form](skill),
        providerOptions: { openai: { store: false } },
        maxRetries: 0,
      }
    }

    test(`the AI SDK runs tools in ${form} ${how}`, async ({ server, account, model, question }) => {
      model.script(question, directive)
      const request = {
        ...(await asked(server.url, account)),
        system: '短く答えてください。',
        messages: [
          { role: 'user', content: 'こんにちは' },
          { role: 'assistant', content: 'はい。' },
          { role: 'user', content: question },
        ] as const,
        tools: {
          weather: tool({ inputSchema: jsonSchema<{ city: string }>(parameters), execute: weather }),
        },
        stopWhen: stepCountIs(5),
      }
      const result = stream
        ? streamText({ ...request, messages: [...request.messages] })
        : await generateText({ ...request, messages: [...request.messages] })
      expect(await result.text).toBe(answer)
      expect(await result.finishReason).toBe('stop')
      const steps = await result.steps
      expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([2, 1, 0])
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop'])
      expect((await result.totalUsage).outputTokens).toBeGreaterThan(0)
      expect(model.instructions(question)).toContain('短く答えてください。')
    })

    test(`the AI SDK asks for an object in ${form} ${how}`, async ({ server, account, model, question }) => {
      model.script(question, { text: '{"days":20}' })
      const request = {
        ...(await asked(server.url, account)),
        prompt: question,
        output: Output.object({ schema: jsonSchema<{ days: number }>(leave), name: 'leave' }),
      }
      const result = stream ? streamText(request) : await generateText(request)
      expect(await result.output).toEqual({ days: 20 })
      expect(model.request(question)).toMatchObject({
        response_format: { type: 'json_schema', json_schema: { name: 'leave', schema: leave, strict: true } },
      })
    })
  }
}

test("OpenAI's client sends an answer back with its parsed JSON", async ({
  server,
  account,
  model,
  question,
}) => {
  model.script(question, { ...directive, tool_calls: directive.tool_calls?.slice(1) ?? [] })
  const client = await clientOf(server.url, account)
  const request = {
    model: skill,
    tools: [{ type: 'function', function: { name: 'weather', parameters, strict: true } } as const],
  }
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  const ask = () => client.chat.completions.stream({ ...request, messages }).finalChatCompletion()
  const message = (await ask()).choices[0]?.message
  const call = message?.tool_calls?.[0]
  expect(call?.function).toMatchObject({ parsed_arguments: { city: '大阪' } })
  if (message === undefined || call === undefined) return
  messages.push(message, { role: 'tool', tool_call_id: call.id, content: '晴れ' })
  expect((await ask()).choices[0]?.message.content).toBe('晴れ')
})

test("OpenAI's client parses a response", async ({ server, account, model, question }) => {
  model.script(question, { text: '{"days":20}' })
  const client = await clientOf(server.url, account)
  const response = await client.responses.parse({
    model: skill,
    input: question,
    text: { format: { type: 'json_schema', name: 'leave', schema: leave, strict: true } },
  })
  expect(JSON.parse(response.output_text)).toEqual({ days: 20 })
})

test("OpenAI's client sees a failed response", async ({ server, account, model, question }) => {
  model.script(question, { text: '途中までの答えです。', fail: 'error', fail_after: 5 })
  const client = await clientOf(server.url, account)
  const events: string[] = []
  for await (const event of await client.responses.create({ model: skill, input: question, stream: true })) {
    events.push(event.type)
    if (event.type === 'response.failed') expect(event.response.error?.message).toBeTruthy()
  }
  expect(events.at(-1)).toBe('response.failed')
})

test('the app shows the calls of a program', async ({ page, server, account, model, question }) => {
  model.script(question, directive)
  const client = await clientOf(server.url, account)
  const completion = await client.chat.completions.create({
    model: skill,
    messages: [{ role: 'user', content: question }],
    tools: [{ type: 'function', function: { name: 'weather', parameters } }],
  })
  expect(completion.choices[0]?.finish_reason).toBe('tool_calls')
  const thread = (await account.threads())[0]
  await page.goto(`/home/skill/${thread?.skill.id}/chat/${thread?.id}`)
  await page.getByText('weather（2回）の実行を依頼').click()
  await expect(page.getByText('質問したプログラムが実行します')).toHaveCount(2)
  await expect(page.getByText('奈良')).toBeVisible()
})
