import { atom } from 'jotai'
import { describe, expect, it } from 'vitest'
import type { Message } from '@/lib/api'
import type { AnswerView, LiveAnswer } from '@/lib/stream'
import { endedMessage, mergeNewest, optimisticTurns, prependOlder, storedTurn } from './turns'

const message = (id: string, change: Partial<Message> = {}): Message => ({
  id,
  thread_id: 't',
  siblings: [],
  role: 'user',
  content: id,
  status: 'success',
  citations: [],
  steps: [],
  created_at: '2026-03-04T05:06:07Z',
  ...change,
})

const view: AnswerView = {
  messageId: 'm4',
  userMessageId: 'm3',
  threadId: 't',
  run: 1,
  hasText: true,
  rewriting: false,
  stalled: false,
  thinking: null,
  steps: [],
  toolCalls: [],
  sources: [],
  citations: null,
  proofread: null,
  title: null,
  outcome: null,
  line: 'closed',
  busyUntil: null,
  ending: { kind: 'done' },
}
const live: LiveAnswer = { key: 'r1', textAtom: atom(''), reasoningAtom: atom(''), viewAtom: atom(view) }
const ids = (turns: readonly { message: Message }[]) => turns.map((turn) => turn.message.id)

describe('mergeNewest', () => {
  it('reverses the newest page and keeps older turns', () => {
    const older = [storedTurn(message('m1')), storedTurn(message('m2'))]
    expect(
      ids(mergeNewest(older, [message('m4', { parent_id: 'm3' }), message('m3', { parent_id: 'm2' })])),
    ).toEqual(['m1', 'm2', 'm3', 'm4'])
    expect(ids(mergeNewest([], []))).toEqual([])
  })

  it('keeps unchanged objects, and the key and stream of changed ones', () => {
    const same = storedTurn(message('m1'))
    const changed = { ...storedTurn(message('m2', { role: 'assistant' })), key: 'answer:r1', live }
    const merged = mergeNewest(
      [same, changed],
      [message('m2', { role: 'assistant', status: 'running' }), message('m1')],
    )
    expect(merged[0]).toBe(same)
    expect(merged[1]).toMatchObject({ key: 'answer:r1', live, message: { status: 'running' } })
  })

  it('drops messages that the server no longer lists, and keeps pending ones at the end', () => {
    const turns = [
      storedTurn(message('m1')),
      storedTurn(message('m2')),
      ...optimisticTurns('r1', 't', { content: '次', siblings: [] }, live, '2026-03-04T05:06:07Z'),
    ]
    // Another tab regenerated m2 as m3.
    expect(ids(mergeNewest(turns, [message('m3'), message('m1')]))).toEqual([
      'm1',
      'm3',
      'question:r1',
      'answer:r1',
    ])
  })
})

it('prepends an older page without duplicates', () => {
  const turns = [storedTurn(message('m3')), storedTurn(message('m4'))]
  expect(ids(prependOlder(turns, [message('m3'), message('m2'), message('m1')]))).toEqual([
    'm1',
    'm2',
    'm3',
    'm4',
  ])
})

describe('endedMessage', () => {
  const ahead = message('m4', { role: 'assistant', content: '', status: 'running' })
  const end = (change: Partial<AnswerView>, reasoning = '', before = ahead) =>
    endedMessage(before, { ...view, ...change }, '本文', reasoning, '2026-03-04T05:07:00Z')

  it('has the reasoning of this answer, not of an earlier attempt', () => {
    const thinking = { startedAt: 0, durationMs: 12_000 }
    const before = { ...ahead, reasoning: '前の考え', reasoning_ms: 1 }
    const outcome = { kind: 'stopped' } as const
    expect(end({ thinking, outcome }, '考え', before)).toMatchObject({
      reasoning: '考え',
      reasoning_ms: 12_000,
    })
    expect(end({ outcome }, '', before).reasoning).toBeUndefined()
  })

  it('has the outcome of the answer', () => {
    expect(
      end({ outcome: { kind: 'finished', reason: 'length', usage: { inputTokens: 1, outputTokens: 2 } } }),
    ).toMatchObject({
      status: 'success',
      finish_reason: 'length',
      usage: { input_tokens: 1, output_tokens: 2 },
      content: '本文',
    })
    expect(end({ outcome: { kind: 'stopped' } })).toMatchObject({
      status: 'success',
      finish_reason: 'stopped',
    })
    expect(end({ outcome: { kind: 'failed', message: '理由', code: 'c', retryable: false } })).toMatchObject({
      status: 'failed',
      error: { code: 'c', detail: '理由', retryable: false },
      content: '本文',
    })
    expect(end({})).toBe(ahead)
  })

  it('has the citations that the check returned', () => {
    const checked = {
      index: 1,
      passageId: 'c',
      dataSourceId: 'd',
      filename: '規程.pdf',
      page: 3,
      locator: '第3章',
      score: 4,
      quote: '本文',
      support: 'weak',
      weakOccurrences: null,
      deleted: false,
      url: null,
      site: '',
      publishedOn: '',
    } as const
    const { citations } = end({ outcome: { kind: 'stopped' }, citations: [checked] })
    expect(citations).toMatchObject([
      {
        index: 1,
        chunk_embedding_id: 'c',
        data_source_id: 'd',
        filename: '規程.pdf',
        page: 3,
        locator: '第3章',
        quote: '本文',
        support: 'weak',
      },
    ])
  })
})
