import { describe, expect, it, vi } from 'vitest'
import { ApiError } from '@/lib/api'
import { finished, message, setup, thread } from './testing'

const change = { id: 1, start: 0, end: 1, before: '絹', after: '糸', kind: 'typo', reason: '' } as const
const proofread = { text: '絹', changes: [change], dropped: 0 }
const accepted = { accepted: [1], refused: [] }

/** loaded returns a conversation with an answer that proofreads a text. */
function loaded() {
  const stored = [message(1), message(2, { proofread })]
  const world = setup(stored)
  world.conversation.load(thread, [...stored].reverse())
  const answer = () => world.turns()[1]?.message
  return { ...world, answer }
}

describe('a proofread text', () => {
  it('has its changes from the stream until the server’s record arrives', () => {
    const { conversation, turns, live, change: view } = setup()
    conversation.load(thread, [message(2, { status: 'running', content: '' }), message(1)])
    const told = { ...proofread, unchecked: [{ start: 0, end: 1 }] }
    conversation.handleEnd(live(), view(live(), { ...finished, proofread: told }), '報告')
    expect(turns()[1]?.message.proofread).toEqual(told)
  })

  it('has no changes of an earlier attempt at the answer', () => {
    const { conversation, turns, change: view, answer } = loaded()
    conversation.regenerate('m002')
    const live = turns()[1]?.successor
    if (!live) throw new Error('nothing is made anew')
    conversation.handleStart(live, view(live, { messageId: 'm003', userMessageId: 'm001' }))
    expect(answer()?.proofread).toBeUndefined()
  })

  it('shows decisions at once, and stores them in its message after saving', async () => {
    const { conversation, api, answer } = loaded()
    conversation.decide('m002', accepted)
    expect(answer()?.proofread?.decisions).toBeUndefined()
    expect(await conversation.storeDecisions('m002')).toBe(true)
    expect(api.decideChanges).toHaveBeenCalledExactlyOnceWith('m002', accepted)
    expect(answer()?.proofread?.decisions).toEqual(accepted)
  })

  it('is reloaded after decisions in another tab, but not after its own', async () => {
    const { conversation, api, answer, messages } = loaded()
    conversation.decide('m002', accepted)
    await conversation.storeDecisions('m002')
    const about = { id: 'm002', thread_id: 't', role: 'assistant', status: 'success' } as const
    conversation.handleMessage({ ...about, decisions: accepted })
    expect(api.listMessages).not.toHaveBeenCalled()
    const elsewhere = { accepted: [], refused: [1] }
    messages[1] = message(2, { proofread: { ...proofread, decisions: elsewhere } })
    conversation.handleMessage({ ...about, decisions: elsewhere })
    await vi.waitFor(() => expect(answer()?.proofread?.decisions).toEqual(elsewhere))
  })

  it('reports refused decisions', async () => {
    const { conversation, api, events, answer } = loaded()
    const cause = new ApiError(409, {})
    api.decideChanges.mockRejectedValueOnce(cause)
    conversation.decide('m002', accepted)
    expect(await conversation.storeDecisions('m002')).toBe(false)
    expect(events.onTrouble).toHaveBeenCalledWith('decide', expect.any(Function), cause)
    expect(answer()?.proofread?.decisions).toBeUndefined()
  })
})
