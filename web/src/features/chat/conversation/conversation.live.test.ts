import { describe, expect, it, vi } from 'vitest'
import { ApiError } from '@/lib/api'
import type { LiveMessage } from '@/lib/live'
import type { LiveAnswer } from '@/lib/stream'
import { MESSAGE_PAGE } from './history'
import { finished, message, setup, thread } from './testing'

describe('a page requested before', () => {
  /** Makes the next request return the current messages, but only after release. */
  function held({ api, messages }: ReturnType<typeof setup>) {
    let release = () => {}
    const before = messages.toReversed()
    api.listMessages.mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          release = () => resolve(before)
        }),
    )
    return () => release()
  }

  it('the server accepts a question does not remove the question', async () => {
    const made = setup()
    const { conversation, turns, live, change, messages } = made
    conversation.load(thread, [])
    const release = held(made)
    const read = conversation.refresh()
    await conversation.ask({ kind: 'text', content: '質問' })
    messages.push(message(1, { content: '質問' }), message(2, { status: 'running', content: '' }))
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    release()
    await read
    expect(turns().map((turn) => [turn.message.id, turn.live !== null])).toEqual([
      ['m001', false],
      ['m002', true],
    ])
  })

  it('an answer finishes does not restart it', async () => {
    const made = setup([message(1), message(2, { status: 'running', content: '' })])
    const { conversation, turns, live, change, messages } = made
    conversation.load(thread, messages.toReversed())
    const release = held(made)
    const read = conversation.refresh()
    messages[1] = message(2)
    conversation.handleEnd(live(), change(live(), finished), '本文2')
    release()
    await read
    expect(turns()[1]).toMatchObject({ live: null, message: { status: 'success', content: '本文2' } })
  })

  it('a rating does not revert the rating, in any order of events', async () => {
    const rated = message(2, { feedback: { rating: 'good' } })
    const made = setup([message(1), message(2)])
    const { conversation, api, turns, messages } = made
    conversation.load(thread, messages.toReversed())
    const release = held(made)
    const read = conversation.refresh()
    const rating = conversation.rate('m002', 'good')
    messages[1] = rated
    conversation.handleMessage({
      id: 'm002',
      thread_id: 't',
      status: 'success',
      feedback: { rating: 'good' },
    })
    release()
    await Promise.all([rating, read])
    expect(turns()[1]?.message.feedback).toEqual({ rating: 'good' })

    let take = () => {}
    api.giveFeedback.mockImplementationOnce(
      (request) =>
        new Promise((resolve) => {
          take = () => resolve(request)
        }),
    )
    const other = conversation.rate('m002', 'bad')
    await conversation.refresh()
    messages[1] = message(2, { feedback: { rating: 'bad' } })
    take()
    await other
    await vi.waitFor(() => expect(turns()[1]?.message.feedback).toEqual({ rating: 'bad' }))
  })

  it('a question in a thread that is being opened is requested again', async () => {
    const { conversation, api, turns, live, change, messages } = setup()
    await conversation.ask({ kind: 'text', content: '質問' })
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    messages.push(message(1, { content: '質問' }), message(2, { status: 'running', content: '' }))
    conversation.load(thread, [])
    await vi.waitFor(() => expect(api.listMessages).toHaveBeenCalledOnce())
    expect(turns().map((turn) => turn.message.id)).toEqual(['m001', 'm002'])
  })

  it('is requested again in full, even if the first request was for fewer messages', async () => {
    const made = setup(Array.from({ length: 8 }, (_, i) => message(i + 1)))
    const { conversation, api, turns, messages } = made
    conversation.load(thread, messages.toReversed())
    const release = held(made)
    void conversation.refresh()
    void conversation.refresh(2)
    messages.push(...[9, 10, 11, 12].map((n) => message(n)))
    const read = conversation.refresh()
    release()
    await read
    expect(api.listMessages).toHaveBeenLastCalledWith('t', { leaf: 'm008', offset: 0, limit: MESSAGE_PAGE })
    expect(turns()).toHaveLength(12)
  })
})

describe('an event from the server', () => {
  const told = (n: number, change: Partial<LiveMessage> = {}): LiveMessage => ({
    id: `m${String(n).padStart(3, '0')}`,
    thread_id: 't',
    role: n % 2 === 1 ? 'user' : 'assistant',
    status: 'success',
    ...change,
  })
  const settle = () => new Promise((resolve) => setTimeout(resolve))

  it('about a question asked in another tab loads it and joins its answer', async () => {
    const { conversation, api, turns, messages } = setup()
    conversation.load(thread, [])
    messages.push(message(1), message(2, { status: 'running', content: '' }))
    conversation.handleMessage(told(1))
    conversation.handleMessage(told(2, { status: 'pending' }))
    await settle()
    expect(api.listMessages).toHaveBeenCalledTimes(2)
    expect(turns().map((turn) => [turn.message.id, turn.live?.key])).toEqual([
      ['m001', undefined],
      ['m002', 'm002'],
    ])
    // From here on, the answer's stream reports the changes.
    conversation.handleMessage(told(2))
    await settle()
    expect(api.listMessages).toHaveBeenCalledTimes(2)
  })

  it('about a known message loads nothing', async () => {
    const { conversation, api, messages } = setup([message(1), message(2)])
    conversation.load(thread, messages.toReversed())
    conversation.handleMessage(told(2))
    expect(api.listMessages).not.toHaveBeenCalled()
    conversation.handleMessage(told(2, { feedback: { rating: 'good' } }))
    expect(api.listMessages).toHaveBeenCalledOnce()
  })

  it('during sending waits until the question’s id is known', async () => {
    const { conversation, api, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '質問' })
    conversation.handleMessage(told(1))
    conversation.handleMessage(told(2, { status: 'pending' }))
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    await settle()
    expect(api.listMessages).not.toHaveBeenCalled()
  })

  it('during sending causes a reload if it is about another question', async () => {
    const { conversation, api, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '質問' })
    conversation.handleMessage(told(4, { status: 'failed' }))
    expect(api.listMessages).not.toHaveBeenCalled()
    conversation.handleStart(live(), change(live(), { messageId: 'm002', userMessageId: 'm001' }))
    await settle()
    expect(api.listMessages).toHaveBeenCalledOnce()
  })

  it('before the stream of a regenerated answer keeps the answer’s place', async () => {
    const { conversation, api, turns, change, messages } = setup([message(1), message(2)])
    conversation.load(thread, messages.toReversed())
    const key = turns()[1]?.key
    conversation.regenerate('m002')
    conversation.handleMessage(told(4, { status: 'pending' }))
    const successor = turns()[1]?.successor as LiveAnswer
    conversation.handleStart(successor, change(successor, { messageId: 'm004' }))
    await settle()
    expect(api.listMessages).not.toHaveBeenCalled()
    expect(turns().map((turn) => [turn.key, turn.message.id])).toEqual([
      ['m001', 'm001'],
      [key, 'm004'],
    ])
  })

  it('during a request causes one more request, whose result all callers get', async () => {
    const { conversation, api, turns, messages } = setup([message(1), message(2, { status: 'running' })])
    conversation.load(thread, [message(1)])
    void conversation.refresh()
    void conversation.refresh()
    messages.push(message(3))
    await conversation.refresh()
    expect(api.listMessages).toHaveBeenCalledTimes(2)
    expect(turns().at(-1)?.message.id).toBe('m003')
  })

  it('about the thread updates its title or marks it as deleted', async () => {
    const { conversation, api } = setup()
    conversation.load(thread, [])
    conversation.handleThread({ ...thread, title: '新しい題名' })
    expect(conversation.state).toMatchObject({ thread: { title: '新しい題名' }, gone: false })
    api.listMessages.mockRejectedValueOnce(new ApiError(503, {}))
    await conversation.refresh()
    expect(conversation.state.gone).toBe(false)
    api.listMessages.mockRejectedValueOnce(new ApiError(404, {}))
    await conversation.refresh()
    expect(conversation.state.gone).toBe(true)
  })
})
