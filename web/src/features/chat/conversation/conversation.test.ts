import { describe, expect, it, vi } from 'vitest'
import type { Me } from '@/lib/api'
import { meQuery, queryClient } from '@/lib/api/queries'
import { type LiveAnswer, StreamFailure } from '@/lib/stream'
import { MESSAGE_PAGE } from './history'
import { finished, message, setup, thread } from './testing'

describe('asking', () => {
  it('shows the question at once, creates the thread, and streams into the same place', async () => {
    const { conversation, events, sent, turns, live, change, messages } = setup()
    const asked = conversation.ask({ kind: 'text', content: '質問' })
    expect(turns().map((turn) => turn.message.content)).toEqual(['質問', ''])
    const keys = turns().map((turn) => turn.key)
    await asked
    expect(events.onThread).toHaveBeenCalledWith(thread)
    expect(sent[0]?.body).toEqual({ request_id: 'r1', thread_id: 't', content: '質問' })
    const first = live()
    conversation.handleStart(first, change(first, { messageId: 'm002', userMessageId: 'm001' }))
    expect(turns().map((turn) => [turn.key, turn.message.id, turn.pending])).toEqual([
      [keys[0], 'm001', false],
      [keys[1], 'm002', false],
    ])
    messages.push(message(1, { content: '質問' }), message(2, { content: '答え', model: 'x' }))
    conversation.handleEnd(first, change(first, finished), '答え')
    expect(turns()[1]).toMatchObject({ live: null, message: { content: '答え', status: 'success' } })
    await vi.waitFor(() => expect(turns()[1]?.message.model).toBe('x'))
    expect(turns().map((turn) => turn.key)).toEqual(keys)
  })

  it('shows the question as the own one, also while its event has not arrived', async () => {
    const me = { id: 'me', name: '山田 太郎' }
    queryClient.setQueryData(meQuery.queryKey, me as Me)
    const { conversation, turns, live, change } = setup()
    await conversation.ask({ kind: 'text', content: '質問' })
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    expect(turns()[0]?.message).toMatchObject({ id: 'm001', author: me })
    queryClient.clear()
  })

  it('returns a refused question, and retries the same request', async () => {
    const { conversation, events, sent, turns, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '質問' })
    const failure = new StreamFailure('network', 'network_unreachable', 0, '')
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '')
    expect(turns()).toEqual([])
    expect(events.onQuestionLost).toHaveBeenCalledOnce()
    expect(events.onRunning).toHaveBeenLastCalledWith('t', false)
    conversation.state.failure?.retry()
    expect(events.onQuestionRetried).toHaveBeenCalledOnce()
    expect(sent.map((item) => item.requestId)).toEqual(['r1', 'r1'])
    expect(conversation.state.failure).toBeNull()
  })

  it('deletes the thread of a refused question, and creates another one', async () => {
    const { conversation, api, events, sent, live, change } = setup()
    api.createThread.mockResolvedValueOnce(thread).mockResolvedValueOnce({ ...thread, id: 't2' })
    await conversation.ask({ kind: 'text', content: '質問' })
    const failure = new StreamFailure('problem', 'overloaded', 503, '')
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '')
    expect(events.onUnused).toHaveBeenCalledExactlyOnceWith(thread)
    expect(conversation.state).toMatchObject({ thread: null, turns: [], gone: false })
    expect(events.onQuestionLost).toHaveBeenCalledOnce()
    conversation.state.failure?.retry()
    await vi.waitFor(() => expect(conversation.state.thread?.id).toBe('t2'))
    expect(new Set(api.createThread.mock.calls.map((call) => JSON.stringify(call)))).toHaveLength(2)
    expect(sent.at(-1)?.body).toMatchObject({ thread_id: 't2', content: '質問' })
  })

  it.each<[string, StreamFailure, (made: ReturnType<typeof setup>) => void]>([
    [
      'it is unknown whether the server accepted the question',
      new StreamFailure('network', 'network_unreachable', 0, ''),
      () => {},
    ],
    [
      'an event about the thread arrived',
      new StreamFailure('problem', 'thread_busy', 409, ''),
      ({ conversation }) => conversation.handleMessage({ id: 'm001', thread_id: 't', status: 'success' }),
    ],
  ])('keeps the thread if %s', async (_, failure, happens) => {
    const made = setup()
    const { conversation, events, live, change } = made
    await conversation.ask({ kind: 'text', content: '質問' })
    happens(made)
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '')
    expect(events.onUnused).not.toHaveBeenCalled()
    expect(conversation.state.thread).toEqual(thread)
  })

  it('returns the question if the thread cannot be created, and creates only one thread', async () => {
    const { conversation, api, turns } = setup()
    api.createThread.mockRejectedValueOnce(new Error('offline'))
    await conversation.ask({ kind: 'text', content: '質問' })
    expect(turns()).toEqual([])
    conversation.state.failure?.retry()
    await vi.waitFor(() => expect(conversation.state.thread).not.toBeNull())
    expect(new Set(api.createThread.mock.calls.map((call) => JSON.stringify(call)))).toHaveLength(1)
  })

  it('creates a temporary thread if that was chosen before', async () => {
    const { conversation, api } = setup()
    conversation.setTemporary(true)
    await conversation.ask({ kind: 'text', content: '質問' })
    expect(api.createThread).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ temporary: true }))
    conversation.setTemporary(false)
    expect(conversation.state.temporary).toBe(true)
  })

  it('creates a thread in a project, and shared or not as last chosen', async () => {
    const { conversation, api } = setup()
    conversation.setProject({ id: 'p', name: '準備', visibility: 'private' })
    conversation.setProject({ id: 'p', name: '準備', visibility: 'project' })
    await conversation.ask({ kind: 'text', content: '質問' })
    expect(api.createThread).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ project_id: 'p', visibility: 'project' }),
    )
    conversation.setProject(null)
    expect(conversation.state.project).not.toBeNull()
  })

  it('leaves a question to the queue of a shared thread', async () => {
    const { conversation, events, live, change, turns } = setup()
    conversation.load(thread, [])
    const onTaken = vi.fn()
    await conversation.ask({ kind: 'text', content: '質問', onTaken })
    const failure = new StreamFailure('problem', 'waiting', 202, '')
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '')
    expect(turns()).toEqual([])
    expect(conversation.state.failure).toBeNull()
    expect(events.onQuestionLost).not.toHaveBeenCalled()
    expect(onTaken).toHaveBeenCalledOnce()
  })

  it('sends nothing while an answer is running', async () => {
    const { conversation, sent } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '一' })
    await conversation.ask({ kind: 'text', content: '二' })
    expect(sent).toHaveLength(1)
  })

  it('keeps the values of a form until the server accepts them', async () => {
    const { conversation, sent, live, change } = setup()
    conversation.load(thread, [])
    const onTaken = vi.fn()
    await conversation.ask({ kind: 'form', form: { text: 'あ' }, content: '**文章**\n\nあ', onTaken })
    expect(sent[0]?.body).toEqual({ request_id: 'r1', thread_id: 't', form: { text: 'あ' } })
    expect(onTaken).not.toHaveBeenCalled()
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    expect(onTaken).toHaveBeenCalledOnce()
  })
})

describe('stopping', () => {
  it('waits until the answer has begun', async () => {
    const { conversation, api, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '質問' })
    await conversation.stop()
    expect(api.stopMessage).not.toHaveBeenCalled()
    expect(conversation.state.stopping).toBe(true)
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    expect(api.stopMessage).toHaveBeenCalledWith('m002')
    conversation.handleEnd(
      live(),
      change(live(), { outcome: { kind: 'stopped' }, ending: { kind: 'done' } }),
      '途中',
    )
    expect(conversation.state.stopping).toBe(false)
    expect(conversation.state.turns[1]?.message).toMatchObject({ content: '途中', finish_reason: 'stopped' })
  })

  it('reports a failure', async () => {
    const { conversation, api, events } = setup()
    conversation.load(thread, [message(2, { status: 'running', content: '' }), message(1)])
    api.stopMessage.mockRejectedValueOnce(new Error('offline'))
    await conversation.stop()
    expect(events.onTrouble).toHaveBeenCalledWith('stop', expect.any(Function), expect.any(Error))
    expect(conversation.state.stopping).toBe(false)
  })
})

describe('regenerating', () => {
  it('keeps the old answer until the new one has begun, in the same place', () => {
    const { conversation, sent, turns, change } = setup()
    conversation.load(thread, [message(2, { feedback: { rating: 'good' } }), message(1)])
    const key = turns()[1]?.key
    conversation.regenerate('m002')
    expect(sent[0]?.body).toEqual({ request_id: 'r1', thread_id: 't', regenerate: 'm002' })
    expect(turns()[1]?.message.content).toBe('本文2')
    const live = turns()[1]?.successor as LiveAnswer
    conversation.handleStart(live, change(live, { messageId: 'm003', userMessageId: 'm001' }))
    expect(turns()[1]).toMatchObject({ key, live, successor: null, message: { id: 'm003', content: '' } })
    expect(turns()[1]?.message.feedback).toBeUndefined()
    expect(turns()).toHaveLength(2)
  })

  it('keeps the old answer if the request is refused', () => {
    const { conversation, events, turns, change } = setup()
    conversation.load(thread, [message(2), message(1)])
    conversation.regenerate('m002')
    const live = turns()[1]?.successor as LiveAnswer
    const failure = new StreamFailure('problem', 'rate_limited', 429, '')
    conversation.handleEnd(live, change(live, { ending: { kind: 'failed', failure } }), '')
    expect(turns()[1]).toMatchObject({ successor: null, message: { content: '本文2' } })
    expect(events.onTrouble).toHaveBeenCalledWith('regenerate', expect.any(Function), failure)
  })
})

describe('stored messages', () => {
  it('joins a running answer', () => {
    const { conversation, turns, events } = setup()
    conversation.load(thread, [message(2, { status: 'running', content: '' }), message(1)])
    expect(turns()[1]?.live?.key).toBe('m002')
    expect(events.onRunning).toHaveBeenCalledWith('t', true)
  })

  it('uses the stored message when the stream has nothing left', async () => {
    const { conversation, turns, live, change } = setup([message(1), message(2)])
    conversation.load(thread, [message(2, { status: 'running', content: '' }), message(1)])
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'gone' } }), '')
    await vi.waitFor(() => expect(turns()[1]).toMatchObject({ live: null, message: { content: '本文2' } }))
  })

  it('keeps the received text of a broken answer, and reports the failure', async () => {
    const { conversation, api, turns, live, change } = setup()
    conversation.load(thread, [message(2, { status: 'running', content: '' }), message(1)])
    api.listMessages.mockRejectedValueOnce(new Error('offline'))
    const failure = new StreamFailure('protocol', 'stream_inconsistent', 0, '')
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '途中まで')
    await vi.waitFor(() => expect(turns()[1]?.live).toBeNull())
    expect(turns()[1]?.message).toMatchObject({
      content: '途中まで',
      status: 'failed',
      error: { code: 'stream_lost' },
    })
  })

  it('loads older pages, and all of them for saving', async () => {
    const all = Array.from({ length: 55 }, (_, i) => message(i + 1))
    const { conversation, api, turns } = setup(all)
    conversation.load(thread, all.toReversed().slice(0, MESSAGE_PAGE))
    expect(conversation.state.older).toBe('more')
    await Promise.all([conversation.loadOlder(), conversation.loadOlder()])
    expect(turns()).toHaveLength(40)
    expect(api.listMessages).toHaveBeenCalledOnce()
    api.listMessages.mockRejectedValueOnce(new Error('offline'))
    await expect(conversation.loadAll()).rejects.toThrow()
    expect(conversation.state.older).toBe('failed')
    await conversation.loadAll()
    expect(turns().map((turn) => turn.message.id)).toEqual(all.map((item) => item.id))
    expect(conversation.state.older).toBe('end')
  })

  it.each([2, MESSAGE_PAGE])(
    'leaves no gap if more than the %i requested messages are new',
    async (limit) => {
      const { conversation, turns, messages } = setup([message(1), message(2)])
      conversation.load(thread, messages.toReversed())
      messages.push(...Array.from({ length: 30 }, (_, i) => message(i + 3)))
      await conversation.refresh(limit)
      const ids = () => turns().map((turn) => turn.message.id)
      expect(ids()).toEqual(messages.slice(-MESSAGE_PAGE).map(({ id }) => id))
      await conversation.loadAll()
      expect(ids()).toEqual(messages.map(({ id }) => id))
    },
  )

  it('waits for the page that is being loaded when all pages are requested', async () => {
    const all = Array.from({ length: 55 }, (_, i) => message(i + 1))
    const { conversation, api, turns } = setup(all)
    conversation.load(thread, all.toReversed().slice(0, MESSAGE_PAGE))
    const reading = conversation.loadOlder()
    await conversation.loadAll()
    await reading
    expect(turns()).toHaveLength(55)
    expect(api.listMessages).toHaveBeenCalledTimes(2)
  })

  it('does not show a pending question twice', async () => {
    const { conversation, turns, messages } = setup()
    conversation.load(thread, [])
    const asked = conversation.refresh()
    await conversation.ask({ kind: 'text', content: '質問' })
    messages.push(message(1, { content: '質問' }), message(2, { status: 'running', content: '' }))
    await asked
    await conversation.refresh()
    expect(turns()).toHaveLength(2)
  })

  it('shows a rating at once, and reverts it on failure', async () => {
    const { conversation, api, events, turns } = setup()
    conversation.load(thread, [message(2), message(1)])
    const done = conversation.rate('m002', 'bad', '短い')
    expect(turns()[1]?.message.feedback).toEqual({ rating: 'bad', comment: '短い' })
    expect(await done).toBe(true)
    expect(await conversation.rate('m002', null)).toBe(true)
    expect(api.withdrawFeedback).toHaveBeenCalledExactlyOnceWith('m002')
    expect(turns()[1]?.message.feedback).toBeUndefined()
    await conversation.rate('m002', 'bad', '短い', true)
    expect(api.giveFeedback).toHaveBeenLastCalledWith({
      message_id: 'm002',
      rating: 'bad',
      comment: '短い',
      with_text: true,
    })
    await conversation.rate('m002', 'bad', '短い')
    api.giveFeedback.mockRejectedValueOnce(new Error('offline'))
    expect(await conversation.rate('m002', 'good')).toBe(false)
    expect(turns()[1]?.message.feedback).toEqual({ rating: 'bad', comment: '短い' })
    expect(events.onTrouble).toHaveBeenCalledWith('feedback', expect.any(Function), expect.any(Error))
  })
})

describe('suggestions', () => {
  it('belong to the answer, and a failure shows none', async () => {
    const { conversation, api, turns, messages } = setup([message(1), message(2)])
    conversation.load(thread, messages.toReversed())
    api.suggestQuestions.mockRejectedValueOnce(new Error('offline'))
    await conversation.suggest('m002')
    expect(turns()[1]?.message.suggestions).toBeUndefined()
    await conversation.suggest('m002')
    expect(api.suggestQuestions).toHaveBeenLastCalledWith('m002')
    expect(turns()[1]?.message.suggestions).toEqual(['続きの質問'])
  })
})
