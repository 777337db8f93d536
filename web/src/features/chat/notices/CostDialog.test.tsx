import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { OwnUsage } from '@/lib/api'
import { ownUsageQuery, queryClient } from '@/lib/api/queries'
import { type LiveAnswer, StreamFailure } from '@/lib/stream'
import { message, setup, thread } from '../conversation/testing'
import { CostDialog } from './CostDialog'

const failure = new StreamFailure('problem', 'confirmation_required', 409, '', { estimatedTokens: 183_400 })
const ending = { ending: { kind: 'failed', failure } } as const

describe('an answer that takes many tokens', () => {
  it('is requested again with the accepted tokens after confirmation', async () => {
    const { conversation, events, sent, turns, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '要約して' })
    conversation.handleEnd(live(), change(live(), ending), '')
    expect(turns()).toEqual([])
    expect(events.onQuestionLost).toHaveBeenCalledOnce()
    expect(conversation.state).toMatchObject({ failure: null, costly: { tokens: 183_400 } })
    conversation.state.costly?.proceed()
    expect(events.onQuestionRetried).toHaveBeenCalledOnce()
    expect(conversation.state.costly).toBeNull()
    expect(sent).toEqual([
      { requestId: 'r1', body: { request_id: 'r1', thread_id: 't', content: '要約して' } },
      {
        requestId: 'r1',
        body: { request_id: 'r1', thread_id: 't', content: '要約して', accept_tokens: 183_400 },
      },
    ])
  })

  it('is not requested if the user declines, and the question returns to the composer', async () => {
    const { conversation, events, sent, turns, live, change } = setup()
    conversation.load(thread, [])
    await conversation.ask({ kind: 'text', content: '要約して' })
    conversation.handleEnd(live(), change(live(), ending), '')
    conversation.declineCost()
    expect(conversation.state).toMatchObject({ failure: null, costly: null })
    expect(events.onQuestionLost).toHaveBeenCalledOnce()
    expect(events.onQuestionRetried).not.toHaveBeenCalled()
    expect(turns()).toEqual([])
    expect(sent).toHaveLength(1)
  })

  it('also needs confirmation when it is regenerated', () => {
    const { conversation, events, sent, turns, change, messages } = setup([message(1), message(2)])
    conversation.load(thread, messages.toReversed())
    conversation.regenerate('m002', 'r', { model_id: 'x' })
    const live = turns().at(-1)?.successor as LiveAnswer
    conversation.handleEnd(live, change(live, ending), '')
    expect(events.onTrouble).not.toHaveBeenCalled()
    conversation.state.costly?.proceed()
    expect(sent.at(-1)).toEqual({
      requestId: 'r',
      body: {
        request_id: 'r',
        thread_id: 't',
        regenerate: 'm002',
        model_id: 'x',
        accept_tokens: 183_400,
      },
    })
    expect(conversation.state.costly).toBeNull()
  })
})

describe('the dialog', () => {
  beforeEach(() => {
    queryClient.clear()
    vi.stubGlobal(
      'fetch',
      vi.fn<typeof fetch>(() => new Promise(() => {})),
    )
  })

  const open = (usage?: Partial<OwnUsage>) => {
    const unlimited = {
      messages: 1,
      input_tokens: 400_000,
      output_tokens: 20_000,
      resets_on: '2026-12-01',
      storage: { used: 0, limit: 1 },
    }
    queryClient.setQueryData(ownUsageQuery.queryKey, { ...unlimited, ...usage })
    const proceed = vi.fn()
    const decline = vi.fn()
    render(
      <QueryClientProvider client={queryClient}>
        <CostDialog costly={{ tokens: 183_400, proceed }} onDecline={decline} />
      </QueryClientProvider>,
    )
    return { proceed, decline, text: screen.getByRole('dialog').textContent }
  }

  it('shows the tokens of the answer and has two buttons', async () => {
    const { proceed, decline, text } = open()
    expect(text).toContain('選択したファイル全体を要約するには、約18万トークンを使用します。続けますか？')
    expect(text).not.toContain('上限')
    await userEvent.click(screen.getByRole('button', { name: '続ける' }))
    expect(proceed).toHaveBeenCalledOnce()
    expect(decline).not.toHaveBeenCalled()
    await userEvent.click(screen.getByRole('button', { name: 'キャンセル' }))
    expect(decline).toHaveBeenCalledOnce()
  })

  it.each([
    [1_000_000, 'あと58万トークンです（上限100万トークン）。', false],
    [500_000, 'あと8万トークンです（上限50万トークン）。', true],
    [100_000, 'あと0トークンです（上限10万トークン）。', true],
  ])('shows the remaining share of a limit of %i', (token_limit, left, over) => {
    const { text } = open({ token_limit })
    expect(text).toContain(left)
    expect(text?.includes('途中で終わります')).toBe(over)
  })
})
