import OpenAI from 'openai'
import { Account } from './support/account'
import { clientOf, errorOf, skill, tokenOf } from './support/openai'
import { expect, seeing, test } from './support/test'
import { Tsumugi } from './support/tsumugi'

/** A PNG of one pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Returns the status of a completion's answer: 404 if its thread was deleted. */
async function statusOf(url: string, account: Account, completion: string): Promise<number> {
  const headers = { Authorization: `Bearer ${account.idToken}` }
  const path = `/v1/message/${completion.replace('chatcmpl-', '')}/stream`
  const { status } = await fetch(url + path, { method: 'HEAD', headers })
  return status
}

/** The messages of the thread that a completion has created, oldest first. */
async function storedAs(account: Account, completion: string) {
  for (const thread of await account.threads()) {
    const messages = await account.messages(thread.id)
    if (messages.some(({ id }) => completion === `chatcmpl-${id}`)) return messages
  }
  throw new Error('the completion is not among the threads')
}

const user = (content: string) => ({ role: 'user', content }) as const

test.describe("OpenAI's own client", () => {
  test('lists the skills as models', async ({ server, account }) => {
    const client = await clientOf(server.url, account)
    const models = await client.models.list()
    expect(models.data.length).toBeGreaterThan(5)
    expect(models.data.map(({ id }) => id)).toContain(skill)
    expect(models.data[0]).toMatchObject({ id: expect.any(String), object: 'model', owned_by: 'tsumugi' })
    for (const listed of models.data) expect(await client.models.retrieve(listed.id)).toEqual(listed)
    expect(models.data[0]?.created).toBeGreaterThan(Date.parse('2026-01-01') / 1000)
    const unknown = await errorOf(client.models.retrieve('gpt-none'))
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' })
  })

  test('asks with a conversation, which becomes a thread', async ({ server, account, model, question }) => {
    model.script(question, { text: '繭から引いた糸です。' })
    const client = await clientOf(server.url, account)
    const completion = await client.chat.completions.create({
      model: skill,
      messages: [
        { role: 'developer', content: '短く答えてください。' },
        user('絹とは'),
        { role: 'assistant', content: '繭の糸です。' },
        { role: 'user', content: [{ type: 'text', text: question }] },
      ],
    })
    expect(completion.choices[0]).toMatchObject({
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: '繭から引いた糸です。' },
    })
    expect(completion._request_id).toBeTruthy()
    expect(model.instructions(question)).toContain('短く答えてください。')
    const stored = await storedAs(account, completion.id)
    expect(stored.map(({ content }) => content)).toEqual([
      '絹とは',
      '繭の糸です。',
      question,
      '繭から引いた糸です。',
    ])
    expect(completion.usage?.completion_tokens).toBe(stored.at(-1)?.usage?.output_tokens)
  })

  test('sets parameters, which reach the model', async ({ server, account, model, question }) => {
    model.script(question, { text: '{"days":20}' })
    const client = await clientOf(server.url, account)
    const schema = { type: 'object', properties: { days: { type: 'number' } }, required: ['days'] }
    const completion = await client.chat.completions.parse({
      model: skill,
      messages: [user(question)],
      temperature: 0,
      top_p: 0.5,
      seed: 7,
      stop: ['。'],
      max_completion_tokens: 100,
      response_format: { type: 'json_schema', json_schema: { name: 'leave', schema, strict: true } },
      user: 'u1',
      metadata: { run: '1' },
    })
    expect(completion.choices[0]?.message.content).toBe('{"days":20}')
    expect(model.request(question)).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      seed: 7,
      stop: ['。'],
      max_tokens: 100,
      response_format: { type: 'json_schema', json_schema: { name: 'leave', schema, strict: true } },
    })
  })

  seeing('sends a picture', async ({ server, account, model, question }) => {
    model.script(question, { pictures: true })
    const client = await clientOf(server.url, account)
    const ask = (url: string) =>
      client.chat.completions.create({
        model: skill,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: question },
              { type: 'image_url', image_url: { url } },
            ],
          },
        ],
      })
    const completion = await ask(pixel)
    expect(completion.choices[0]?.message.content).toContain('1×1')
    const elsewhere = await errorOf(ask('https://example.com/a.png'))
    expect(elsewhere.param).toBe('messages[0].content[1].image_url.url')
  })

  test('streams with usage, to the stored text', async ({ server, account, model, question }) => {
    const directive = { chars: 900, seed: 18, tokens_per_second: 2000 }
    model.script(question, directive)
    const client = await clientOf(server.url, account)
    const runner = client.chat.completions.stream({
      model: skill,
      messages: [user(question)],
      stream_options: { include_usage: true },
    })
    const completion = await runner.finalChatCompletion()
    const text = await model.text(directive)
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } })
    const answer = (await storedAs(account, completion.id)).at(-1)
    expect(answer?.content).toBe(text)
    expect(await runner.totalUsage()).toMatchObject({
      prompt_tokens: answer?.usage?.input_tokens,
      completion_tokens: answer?.usage?.output_tokens,
    })
  })

  test('leaves no thread with store: false', async ({ server, account, model, question }) => {
    model.script(question, { text: '残りません。' })
    const client = await clientOf(server.url, account)
    const asked = { model: skill, messages: [user(question)], store: false }
    const before = await account.threads()
    const whole = await client.chat.completions.create(asked)
    expect(whole.choices[0]?.message.content).toBe('残りません。')
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe('残りません。')
    for (const { id } of [whole, streamed])
      await expect.poll(() => statusOf(server.url, account, id)).toBe(404)
    expect((await account.threads()).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  })

  test('finds its answer again by an Idempotency-Key', async ({ server, account, model, question }) => {
    model.script(question, { text: '一度だけ考えます。' })
    const client = await clientOf(server.url, account)
    const asked = { model: skill, messages: [user(question)] }
    const again = { headers: { 'Idempotency-Key': `nightly-${crypto.randomUUID()}` } }
    const first = await client.chat.completions.create(asked, again)
    const second = await client.chat.completions.stream(asked, again).finalChatCompletion()
    expect(second.id).toBe(first.id)
    expect(second.choices[0]?.message.content).toBe('一度だけ考えます。')
    expect(model.asked(question)).toBe(1)
    const other = { ...asked, messages: [user('別の話'), ...asked.messages] }
    const refused = await errorOf(client.chat.completions.create(other, again))
    expect(refused).toBeInstanceOf(OpenAI.ConflictError)
    expect(refused.code).toBe('request_id_conflict')
  })

  for (const store of [true, false])
    test(`disconnects during an answer, with store: ${store}`, async ({
      server,
      account,
      model,
      question,
    }) => {
      const directive = { chars: 1500, seed: 19, tokens_per_second: 400 }
      model.script(question, directive)
      const middle = model.pause(question, 80)
      const client = await clientOf(server.url, account)
      const stream = await client.chat.completions.create({
        model: skill,
        messages: [user(question)],
        store,
        stream: true,
      })
      let id = ''
      let text = ''
      for await (const chunk of stream) {
        id = chunk.id
        text += chunk.choices[0]?.delta.content ?? ''
        if (text.length > 20) break // The library closes the connection.
      }
      if (!store) {
        // The generation ends with its thread, perhaps before it reaches the pause.
        await expect.poll(() => statusOf(server.url, account, id)).toBe(404)
        middle.release()
        return
      }
      await middle.reached
      middle.release()
      await expect
        .poll(async () => (await storedAs(account, id)).at(-1))
        .toMatchObject({ status: 'success', finish_reason: 'stop', content: await model.text(directive) })
    })

  test('reports a stream that ends early as an error', async ({ server, account, model, question }) => {
    model.script(question, { chars: 1500, seed: 20, tokens_per_second: 400 })
    const middle = model.pause(question, 80)
    const { token, connection } = await tokenOf(account, 'chat')
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: token, maxRetries: 0 })
    const asked = { model: skill, messages: [user(question)] }
    const stream = await client.chat.completions.create({ ...asked, stream: true })
    await middle.reached
    const rest = (async () => {
      for await (const _ of stream);
    })()
    await Promise.all([
      expect(rest).rejects.toThrow(),
      account.call('DELETE', `/v1/connection/${connection.id}`),
    ])
    middle.release()
    const refused = await errorOf(client.chat.completions.create(asked))
    expect(refused).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(refused.type).toBe('authentication_error')
  })

  test('reports refusals and failures as its own errors', async ({ server, account, model, question }) => {
    const client = await clientOf(server.url, account)
    const asked = { model: skill, messages: [user(question)] }
    const unknown = await errorOf(client.chat.completions.create({ ...asked, model: 'gpt-none' }))
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' })
    expect(unknown.requestID).toBeTruthy()
    expect(unknown.message).toContain('GET /v1/models')
    const twice = await errorOf(client.chat.completions.create({ ...asked, n: 2 }))
    expect(twice).toBeInstanceOf(OpenAI.BadRequestError)
    expect(twice.param).toBe('n')
    const tools = [{ type: 'custom', custom: { name: 'now' } }] as const
    const unsupported = await errorOf(client.chat.completions.create({ ...asked, tools: [...tools] }))
    expect(unsupported).toBeInstanceOf(OpenAI.BadRequestError)
    expect(unsupported).toMatchObject({ param: 'tools[0].type', code: 'invalid_value' })
    const narrow = client.withOptions({ apiKey: (await tokenOf(account, 'documents')).token })
    const forbidden = await errorOf(narrow.chat.completions.create(asked))
    expect(forbidden).toBeInstanceOf(OpenAI.PermissionDeniedError)
    expect(forbidden.code).toBe('insufficient_scope')
    model.script(question, { text: '途中までの答えです。ここは届きません。', fail: 'error', fail_after: 10 })
    const failed = await errorOf(client.chat.completions.create(asked))
    expect(failed).toBeInstanceOf(OpenAI.InternalServerError)
    expect(failed.type).toBe('server_error')
    const broken = await errorOf(client.chat.completions.stream(asked).finalChatCompletion())
    expect(broken.type).toBe('server_error')
  })

  test('reports a limit as RateLimitError, with the time to retry', async ({ model, question }) => {
    model.script(question, { text: 'はい。' })
    const server = await Tsumugi.start(model, { TSUMUGI_LIMITS: 'question=1' })
    const client = await clientOf(server.url, await Account.signIn(server.url, 'user'))
    const asked = { model: skill, messages: [user(question)] }
    // Three, because a new minute may begin between two of them.
    const calls = [1, 2, 3].map(() => client.chat.completions.create(asked))
    const settled = await Promise.allSettled(calls)
    const refused = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(refused.reason).toBeInstanceOf(OpenAI.RateLimitError)
    expect(refused.reason).toMatchObject({
      code: 'rate_limited',
      type: 'rate_limit_error',
      param: 'question',
    })
    expect(Number(refused.reason.headers.get('retry-after'))).toBeGreaterThan(0)
    await server.stop()
  })
})
