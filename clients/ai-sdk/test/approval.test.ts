import { readUIMessageStream, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { type ToolApproval, TsumugiError } from '../src/index.js'
import { textOf } from './chat.js'
import { atEachByte, bytesOf, ids, problem, script, size, streamed } from './server.js'
import { afterRetryField, cursorOf, setUp } from './setup.js'

type Outcome = 'approved' | 'edited' | 'denied'

const deltas = ['計算します。', '合計は', '3です🧵。']
const whole = deltas.join('')

const event = (chunk: object | string, id = '') =>
  `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n${id && `id: ${id}\n`}\n`

const start = `retry: 1\n\n${event({
  type: 'start',
  messageId: ids.answer,
  messageMetadata: { run: 1, thread_id: ids.thread, user_message_id: ids.question },
})}`
const step = (type: string, number: number) => event({ type, step: number })
const textStart = event({ type: 'text-start', id: '0' })
const textEnd = event({ type: 'text-end', id: '0' })

/** The text from a position on: the deltas that end after it. */
function text(from: number, parts: readonly string[], end = 0): string {
  return parts.reduce((written, delta) => {
    end += size(delta)
    return end > from ? written + event({ type: 'text-delta', id: '0', delta }, `1-${end}`) : written
  }, '')
}

/** A call of a tool with the state of its approval, and its result if there is one. */
function toolCall(outcome: Outcome | 'waiting'): string {
  const state = outcome === 'edited' ? 'approved' : outcome
  return [
    {
      type: 'tool-input-available',
      toolCallId: 'a',
      toolName: 'calculate',
      title: '計算',
      input: { expression: outcome === 'edited' ? '1+1+1' : '1+2' },
      providerExecuted: true,
      dynamic: true,
      providerMetadata: { tsumugi: { offset: size(deltas[0] ?? '') } },
    },
    { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' },
    {
      type: 'data-tool-approval',
      id: 'a',
      data: { id: 'p', tool_call_id: 'a', cause: 'rule', state, arguments_sha256: '00' },
      transient: true,
    },
    ...(outcome === 'waiting' ? [] : [result(outcome)]),
  ]
    .map((chunk) => event(chunk))
    .join('')
}

function result(outcome: Outcome): object {
  return outcome === 'denied'
    ? { type: 'tool-output-denied', toolCallId: 'a' }
    : {
        type: 'tool-output-available',
        toolCallId: 'a',
        output: '3',
        providerExecuted: true,
        dynamic: true,
      }
}

const ending =
  textEnd +
  step('finish-step', 1) +
  event({ type: 'finish', finishReason: 'stop' }, `1-${size(whole)}`) +
  event('[DONE]')

/** The events of one connection for the whole answer, and those before the decision. */
function live(outcome: Outcome): { before: string; all: string } {
  const before = start + step('start-step', 0) + textStart + text(0, deltas.slice(0, 1)) + toolCall('waiting')
  const next = textEnd + step('finish-step', 0) + step('start-step', 1) + textStart
  const rest = text(0, deltas.slice(1), size(deltas[0] ?? ''))
  return { before, all: before + toolCall(outcome) + next + rest + ending }
}

const offsetOf = (cursor: string | null) => Number(cursor?.split('-')[1] ?? 0)

/** The events of a connection that resumes while the call waits. */
const waiting = (cursor: string | null) =>
  start + step('start-step', 0) + toolCall('waiting') + textStart + text(offsetOf(cursor), deltas.slice(0, 1))

/** The events of a connection that resumes after the end of the answer. */
const ended = (cursor: string | null, outcome: Outcome) =>
  start +
  step('start-step', 0) +
  toolCall(outcome) +
  step('finish-step', 0) +
  step('start-step', 1) +
  textStart +
  text(offsetOf(cursor), deltas) +
  ending

const stateOf = (outcome: Outcome) => (outcome === 'denied' ? 'output-denied' : 'output-available')

const callsOf = (message: UIMessage | undefined) =>
  (message?.parts ?? []).filter((part) => part.type === 'dynamic-tool')

describe('an answer that waits for the approval of a call', () => {
  for (const outcome of ['approved', 'edited', 'denied'] as const) {
    it(`has each part once, disconnected at every byte and again while it waits: ${outcome}`, async () => {
      const { before, all } = live(outcome)
      await atEachByte(afterRetryField, bytesOf(all).length, async (cut) => {
        const waits = cut <= bytesOf(before).length
        const { chat, calls } = setUp((call, index) => {
          if (index === 0) return streamed(bytesOf(all).slice(0, cut), 'break')
          if (index === 1 && waits) return streamed(bytesOf(waiting(cursorOf(call))), 'break')
          return streamed(bytesOf(ended(cursorOf(call), outcome)))
        })
        await chat.sendMessage({ text: '質問' })
        expect(chat.status, `cut at ${cut}`).toBe('ready')
        expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(whole)
        expect(callsOf(chat.lastMessage), `cut at ${cut}`).toMatchObject([
          {
            toolCallId: 'a',
            state: stateOf(outcome),
            input: { expression: outcome === 'edited' ? '1+1+1' : '1+2' },
            approval: { id: 'p' },
          },
        ])
        const steps = chat.lastMessage?.parts.filter(({ type }) => type === 'step-start')
        expect(steps, `cut at ${cut}`).toHaveLength(2)
        expect(new Set(calls.map((call) => JSON.stringify(call.body))).size).toBe(1)
      })
    })

    it(`shows the states of the call: ${outcome}`, async () => {
      const { transport } = setUp(() => streamed(bytesOf(live(outcome).all)))
      const stream = await transport.sendMessages({
        trigger: 'submit-message',
        chatId: ids.thread,
        messageId: undefined,
        messages: [{ id: 'q', role: 'user', parts: [{ type: 'text', text: '質問' }] }],
        abortSignal: undefined,
      })
      const states: string[] = []
      for await (const message of readUIMessageStream({ stream }))
        for (const { state } of callsOf(message)) if (states.at(-1) !== state) states.push(state)
      expect(states).toEqual([
        'input-available',
        'approval-requested',
        ...(outcome === 'denied' ? [] : ['input-available']),
        stateOf(outcome),
      ])
    })
  }
})

describe('a decision', () => {
  const call: Partial<ToolApproval> = { id: 'p', state: 'waiting', arguments: '{}', arguments_sha256: '00' }

  it('is sent with the hash of the arguments and a new request id', async () => {
    const { transport, calls } = setUp(({ method }) =>
      Response.json(method === 'GET' ? { items: [call] } : { ...call, state: 'approved' }),
    )
    const [waits] = await transport.waitingToolCalls()
    expect(waits).toEqual(call)
    const decided = await transport.decideToolCall(waits?.id ?? '', {
      approved: true,
      arguments: { expression: '1+1' },
      arguments_sha256: waits?.arguments_sha256 ?? '',
      remember: true,
    })
    expect(decided.state).toBe('approved')
    expect(calls[0]?.url).toBe('https://t.example/v1/tool-call?state=waiting&limit=100')
    expect(calls[1]).toMatchObject({
      url: 'https://t.example/v1/tool-call/p/decision',
      method: 'POST',
      body: {
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        approved: true,
        arguments: { expression: '1+1' },
        arguments_sha256: '00',
        remember: true,
      },
    })
    expect(calls[1]?.headers.get('content-type')).toBe('application/json')
    expect(calls[1]?.headers.get('authorization')).toBe('Bearer token')
  })

  it('has the request id of the caller, who can repeat it', async () => {
    const { transport, calls } = setUp(() => Response.json(call))
    const decision = { request_id: 'mine', approved: false, arguments_sha256: '00', reason: '違います' }
    await transport.decideToolCall('p', decision)
    await transport.decideToolCall('p', decision)
    expect(calls.map(({ body }) => body)).toEqual([decision, decision])
  })

  it('after another one is an error with the sentence of the server', async () => {
    const detail = 'この呼び出しは、すでに承認または拒否されています。'
    const { transport } = setUp(() => problem(409, { code: 'conflict', detail }))
    const error = await transport
      .decideToolCall('p', { approved: true, arguments_sha256: '00' })
      .catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(TsumugiError)
    expect(error).toMatchObject({ message: detail, code: 'conflict', refusal: { status: 409 } })
  })
})

it('shows the input of a call while it is written', async () => {
  const begun = script(1, { deltas, written: ['a'] }, null)
  const { transport } = setUp(() => streamed(bytesOf(begun)))
  const stream = await transport.sendMessages({
    chatId: ids.thread,
    messages: [{ id: 'q', role: 'user', parts: [{ type: 'text', text: '質問' }] }],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  })
  const states = new Set<string>()
  for await (const { parts } of readUIMessageStream({ stream }))
    for (const part of parts)
      if (part.type === 'dynamic-tool')
        states.add(`${part.title} ${part.state} ${JSON.stringify(part.input)}`)
  expect([...states]).toEqual([
    '計算 input-streaming undefined',
    '計算 input-streaming {}',
    '計算 input-streaming {"expression":"1+"}',
    '計算 output-error ""',
  ])
})
