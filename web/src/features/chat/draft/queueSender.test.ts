import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PageLocks } from '@/lib/browser/locks'
import { StreamFailure } from '@/lib/stream'
import { store } from '@/lib/ui/store'
import { finished, message, setup, thread } from '../conversation/testing'
import { clearQueue, dequeue, enqueue, readQueue } from './queue'
import { QueueSender } from './queueSender'

type Made = ReturnType<typeof setup>

const stops: (() => void)[] = []

/** tab returns a tab that shows a thread with one answered question. */
function tab(locks = new PageLocks()) {
  const made = setup([message(1), message(2)], store)
  made.conversation.load(thread, made.messages)
  const sender = new QueueSender(locks)
  stops.push(sender.follow(made.conversation))
  return {
    ...made,
    sender,
    contents: () => made.sent.map(({ body }) => (body as { content: string }).content),
  }
}

function start(made: Made, n: number): void {
  const live = made.live()
  const userMessageId = message(n).id
  made.messages.push(message(n), message(n + 1))
  made.conversation.handleStart(live, made.change(live, { messageId: message(n + 1).id, userMessageId }))
}

function end(made: Made, outcome: 'finished' | 'stopped' = 'finished'): void {
  const live = made.live()
  const last = made.messages.at(-1)
  if (outcome === 'stopped' && last) last.finish_reason = 'stopped'
  const view = outcome === 'stopped' ? ({ ...finished, outcome: { kind: 'stopped' } } as const) : finished
  made.conversation.handleEnd(live, made.change(live, view as typeof finished), '答え')
}

beforeEach(() => void clearQueue('t'))
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

describe('the queue', () => {
  it('sends one question after the previous answer', async () => {
    const made = tab()
    await made.conversation.ask({ kind: 'text', content: '一' })
    start(made, 3)
    enqueue('t', { content: '二' }, undefined)
    enqueue('t', { content: '三' }, undefined)
    const [second] = readQueue('t')
    await made.sender.send(made.conversation)
    expect(made.contents()).toEqual(['一'])
    end(made)
    await vi.waitFor(() => expect(made.contents()).toEqual(['一', '二']))
    expect(made.sent.at(-1)?.requestId).toBe(second?.id)
    expect(readQueue('t')).toHaveLength(2)
    start(made, 5)
    expect(readQueue('t').map((item) => item.content)).toEqual(['三'])
    end(made)
    await vi.waitFor(() => expect(made.contents()).toEqual(['一', '二', '三']))
  })

  it('waits for the user after a stopped answer', async () => {
    const made = tab()
    await made.conversation.ask({ kind: 'text', content: '一' })
    start(made, 3)
    enqueue('t', { content: '二' }, undefined)
    end(made, 'stopped')
    await made.conversation.refresh()
    expect(made.contents()).toEqual(['一'])
    void made.sender.send(made.conversation, true)
    await vi.waitFor(() => expect(made.contents()).toEqual(['一', '二']))
  })

  it('is sent in a thread without messages if the user wants it', async () => {
    const made = setup([], store)
    made.conversation.load(thread, [])
    enqueue('t', { content: '一', failed: true }, undefined)
    const sender = new QueueSender(new PageLocks())
    await sender.send(made.conversation)
    expect(made.sent).toEqual([])
    void sender.send(made.conversation, true)
    await vi.waitFor(() => expect(made.sent).toHaveLength(1))
  })

  it('keeps a refused question and does not send it again by itself', async () => {
    const made = tab()
    enqueue('t', { content: '二' }, undefined)
    void made.sender.send(made.conversation)
    await vi.waitFor(() => expect(made.contents()).toEqual(['二']))
    const failure = new StreamFailure('network', 'network_unreachable', 0, '')
    made.events.onQuestionLost.mockImplementation(({ question }) => question.onLost())
    made.conversation.handleEnd(
      made.live(),
      made.change(made.live(), { ending: { kind: 'failed', failure } }),
      '',
    )
    made.conversation.dismissFailure()
    await made.sender.send(made.conversation)
    expect(made.contents()).toEqual(['二'])
    expect(readQueue('t')).toMatchObject([{ content: '二', failed: true }])
  })

  it('is sent by one tab only, and a removed question by none', async () => {
    const locks = new PageLocks()
    enqueue('t', { content: '二' }, undefined)
    enqueue('t', { content: '三' }, undefined)
    const tabs = [tab(locks), tab(locks)]
    const [one, other] = tabs as [Made & (typeof tabs)[0], Made & (typeof tabs)[0]]
    await vi.waitFor(() => expect(one.contents()).toEqual(['二']))
    const [, third] = readQueue('t')
    dequeue('t', third?.id ?? '')
    start(one, 3)
    end(one)
    await vi.waitFor(() => expect(one.turns().at(-1)?.live).toBeNull())
    await other.sender.send(other.conversation)
    expect([...one.contents(), ...other.contents()]).toEqual(['二'])
  })
})
