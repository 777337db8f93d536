import { describe, expect, it, vi } from 'vitest'
import type { Message } from '@/lib/api'
import { type LiveAnswer, StreamFailure } from '@/lib/stream'
import { MESSAGE_PAGE } from './history'
import { finished, message, setup, thread } from './testing'

/** twoBranches returns a thread with an edited question: m003 and m004, and as alternatives m005 and m006. */
function twoBranches() {
  const siblings = ['m003', 'm005']
  return setup([
    message(1),
    message(2),
    message(3, { siblings }),
    message(4),
    message(5, { parent_id: 'm002', siblings }),
    message(6),
  ])
}

const ids = ({ turns }: ReturnType<typeof setup>) => turns().map((turn) => turn.message.id)
const settle = () => new Promise((resolve) => setTimeout(resolve))

describe('an edited question', () => {
  it('replaces the old one and becomes its alternative', async () => {
    const made = setup([message(1), message(2), message(3), message(4)])
    const { conversation, sent, turns, live, change, messages } = made
    conversation.load(thread, messages.toReversed())
    conversation.edit('m003')
    const key = turns()[2]?.key
    const onTaken = vi.fn()
    await conversation.ask({ kind: 'text', content: '改', onTaken }, 'r', { edit: 'm003' })
    expect(sent[0]?.body).toEqual({ request_id: 'r', thread_id: 't', edit: 'm003', content: '改' })
    expect(ids(made)).toEqual(['m001', 'm002', 'question:r', 'answer:r'])
    expect(conversation.state.editing).toBeNull()
    conversation.handleStart(live(), change(live(), { messageId: 'm006', userMessageId: 'm005' }))
    expect(onTaken).toHaveBeenCalledOnce()
    expect(turns()[2]?.message).toMatchObject({ parent_id: 'm002', siblings: ['m003', 'm005'] })
    expect(turns()[3]?.message).toMatchObject({ parent_id: 'm005', siblings: ['m006'] })
    expect(key).toBe('m003')
    const siblings = ['m003', 'm005']
    messages.push(message(5, { parent_id: 'm002', siblings }), message(6))
    conversation.handleEnd(live(), change(live(), finished), '本文6')
    await settle()
    expect(ids(made)).toEqual(['m001', 'm002', 'm005', 'm006'])
  })

  it('changes nothing if it is refused, and stays open', async () => {
    const made = setup([message(1), message(2), message(3), message(4)])
    const { conversation, live, change, messages, events } = made
    conversation.load(thread, messages.toReversed())
    await conversation.ask({ kind: 'text', content: '改' }, 'r', { edit: 'm001' })
    expect(ids(made)).toEqual(['question:r', 'answer:r'])
    const failure = new StreamFailure('problem', 'rate_limited', 429, '')
    conversation.handleEnd(live(), change(live(), { ending: { kind: 'failed', failure } }), '')
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm004'])
    expect(conversation.state.editing).toBe('m001')
    expect(events.onQuestionLost.mock.calls[0]?.[0]).toMatchObject({ place: { edit: 'm001' } })
    conversation.state.failure?.retry()
    expect(ids(made)).toEqual(['question:r', 'answer:r'])
  })
})

describe('an answer in the middle', () => {
  it('can be regenerated, which ends its branch', () => {
    const made = setup([message(1), message(2), message(3), message(4)])
    const { conversation, turns, sent, change, messages } = made
    conversation.load(thread, messages.toReversed())
    conversation.regenerate('m002')
    expect(sent[0]?.body).toMatchObject({ regenerate: 'm002' })
    const live = turns().at(-1)?.successor as LiveAnswer
    conversation.handleStart(live, change(live, { messageId: 'm005', userMessageId: 'm001' }))
    expect(ids(made)).toEqual(['m001', 'm005'])
    expect(turns()[1]?.message.siblings).toEqual(['m002', 'm005'])
  })

  it('restores the following turns if regenerating is refused', () => {
    const made = setup([message(1), message(2), message(3), message(4)])
    const { conversation, turns, change, messages } = made
    conversation.load(thread, messages.toReversed())
    conversation.regenerate('m002')
    const live = turns().at(-1)?.successor as LiveAnswer
    const failure = new StreamFailure('problem', 'rate_limited', 429, '')
    conversation.handleEnd(live, change(live, { ending: { kind: 'failed', failure } }), '')
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm004'])
  })
})

describe('another branch', () => {
  it('is shown, stored on the server, and uses the same places', async () => {
    const made = twoBranches()
    const { conversation, api, turns } = made
    conversation.load(thread, await api.listMessages('t', { offset: 0, limit: MESSAGE_PAGE }))
    expect(ids(made)).toEqual(['m001', 'm002', 'm005', 'm006'])
    const keys = turns().map((turn) => turn.key)
    await conversation.goTo('m003')
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm004'])
    expect(turns().map((turn) => turn.key)).toEqual([...keys.slice(0, 3), 'm004'])
    expect(api.editThread).toHaveBeenCalledExactlyOnceWith('t', { leaf: 'm003' })
    await conversation.refresh()
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm004'])
    await conversation.reopen()
    expect(ids(made)).toEqual(['m001', 'm002', 'm005', 'm006'])
  })

  it('receives the next question', async () => {
    const { conversation, api, sent } = twoBranches()
    conversation.load(thread, await api.listMessages('t', { offset: 0, limit: MESSAGE_PAGE }))
    await conversation.goTo('m003')
    await conversation.ask({ kind: 'text', content: '続き' }, 'r')
    expect(sent[0]?.body).toMatchObject({ parent_id: 'm004', content: '続き' })
  })

  it('is loaded up to the chosen message', async () => {
    const siblings = ['m003', 'm063']
    const made = setup([
      ...Array.from({ length: 62 }, (_, i) => message(i + 1, i === 2 ? { siblings } : {})),
      message(63, { parent_id: 'm002', siblings }),
      message(64),
    ])
    const { conversation, api } = made
    conversation.load(thread, await api.listMessages('t', { offset: 0, limit: MESSAGE_PAGE }))
    await conversation.goTo('m003')
    expect(ids(made)).toContain('m003')
    expect(ids(made).at(-1)).toBe('m062')
    await conversation.loadAll()
    expect(ids(made)).toHaveLength(62)
    await conversation.reveal('m064')
    expect(ids(made)).toEqual(['m001', 'm002', 'm063', 'm064'])
  })

  it('keeps its running answer after the reader leaves, and shows it on return', async () => {
    const made = twoBranches()
    const { conversation, api, messages, turns, live, change } = made
    messages[5] = message(6, { status: 'running', content: '' })
    conversation.load(thread, await api.listMessages('t', { offset: 0, limit: MESSAGE_PAGE }))
    const writing = live()
    await conversation.goTo('m003')
    expect(conversation.state.otherBranch).toEqual({ id: 'm006', running: true })
    await conversation.ask({ kind: 'text', content: '待つ' })
    expect(ids(made)).toHaveLength(4)
    await conversation.goTo('m006')
    expect(turns().at(-1)?.live?.key).toBe(writing.key)
    expect(conversation.state.otherBranch).toBeNull()
    await conversation.goTo('m003')
    conversation.handleEnd(writing, change(writing, finished), '本文6')
    expect(conversation.state.otherBranch).toEqual({ id: 'm006', running: false })
  })
})

describe('an event about another branch', () => {
  const told = (stored: Message) => ({
    id: stored.id,
    thread_id: 't',
    role: stored.role,
    status: stored.status,
    ...(stored.parent_id !== undefined && { parent_id: stored.parent_id }),
  })

  it('is none if the question waits for its turn in a shared thread', async () => {
    const { conversation, messages } = setup([message(1), message(2, { status: 'running', content: '' })])
    conversation.load(thread, messages.toReversed())
    conversation.handleMessage({ id: 'm003', thread_id: 't', role: 'user', status: 'pending' })
    await settle()
    expect(conversation.state.otherBranch).toBeNull()
  })

  it('does not move the reader, unless the last answer is regenerated', async () => {
    const made = setup([message(1), message(2), message(3), message(4)])
    const { conversation, messages, turns } = made
    conversation.load(thread, messages.toReversed())
    const siblings = ['m001', 'm005']
    const { parent_id: _, ...root } = message(5, { siblings })
    messages[0] = message(1, { siblings })
    messages.push(root, message(6, { status: 'running', content: '' }))
    conversation.handleMessage(told(root))
    conversation.handleMessage(told(message(6, { status: 'running' })))
    await settle()
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm004'])
    expect(turns()[0]?.message.siblings).toEqual(siblings)
    expect(conversation.state.otherBranch).toEqual({ id: 'm006', running: true })
    conversation.handleMessage(told(message(6)))
    await settle()
    expect(conversation.state.otherBranch).toEqual({ id: 'm006', running: false })

    messages.push(
      message(8, { parent_id: 'm003', status: 'running', content: '', siblings: ['m004', 'm008'] }),
    )
    conversation.handleMessage(told(message(8, { parent_id: 'm003', status: 'pending' })))
    await settle()
    expect(ids(made)).toEqual(['m001', 'm002', 'm003', 'm008'])
    expect(turns().at(-1)?.live?.key).toBe('m008')
  })

  it('is followed if the last answer was regenerated and is complete, unless the reader left that branch', async () => {
    const made = setup([message(1), message(2)])
    const { conversation, messages } = made
    conversation.load(thread, messages.toReversed())
    const siblings = ['m002', 'm004']
    messages[1] = message(2, { siblings })
    messages.push(message(4, { parent_id: 'm001', siblings }))
    conversation.handleMessage(told(message(4, { parent_id: 'm001' })))
    await settle()
    expect(ids(made)).toEqual(['m001', 'm004'])
    await conversation.goTo('m002')
    expect(ids(made)).toEqual(['m001', 'm002'])
    conversation.handleMessage({ ...told(message(4, { parent_id: 'm001' })), feedback: { rating: 'good' } })
    await settle()
    expect(ids(made)).toEqual(['m001', 'm002'])
  })

  it('is dropped once the thread has no running answer', async () => {
    const { conversation, api } = setup([message(1), message(2)])
    conversation.load({ ...thread, running: true }, [message(2), message(1)])
    expect(conversation.state.otherBranch).toEqual({ id: null, running: true })
    await conversation.refresh()
    expect(api.getThread).toHaveBeenCalledOnce()
    expect(conversation.state.otherBranch).toBeNull()
  })
})
