import { act, render } from '@testing-library/react'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { markThreadShown, threadsQuery } from '@/entities/thread/threads'
import type { Thread } from '@/lib/api'
import { fillList } from '@/lib/api/testing'
import { type LiveEvents, type LiveMessage, live } from '@/lib/live'
import { store } from '@/lib/ui/store'
import { dismissToast, toastsAtom } from '@/lib/ui/toast'
import { Finished } from './Finished'

const thread = (id: string, title: string): Thread => ({
  id,
  skill: { id: 's', name: '汎用', icon_path: '/i.svg' },
  title,
  created_at: '2026-03-01T00:00:00Z',
  updated_at: '2026-03-01T00:00:00Z',
  touched_at: '2026-03-01T00:00:00Z',
  running: true,
  pinned: false,
  archived: false,
  data_sources: [],
})

const ended = (change: Partial<LiveMessage> = {}): LiveMessage => ({
  id: 'm',
  thread_id: 't',
  role: 'assistant',
  status: 'success',
  finish_reason: 'stop',
  ...change,
})

describe('an answer that has ended', () => {
  let tell: (message: LiveMessage) => void
  let router: ReturnType<typeof createMemoryRouter>
  const shown = () => store.get(toastsAtom).map((item) => `${item.tone}: ${item.message}`)

  beforeEach(() => {
    for (const item of store.get(toastsAtom)) dismissToast(item.id)
    const on = vi.spyOn(live, 'on')
    fillList(threadsQuery, [thread('t', '旅費の精算')])
    router = createMemoryRouter([{ path: '*', element: <Finished /> }], { initialEntries: ['/home/skill'] })
    render(<RouterProvider router={router} />)
    const onMessage: (event: LiveEvents['message']) => void = on.mock.calls[0]?.[1] as never
    tell = (message) => onMessage({ message })
  })

  it('is told of once, with the way there', async () => {
    tell(ended())
    tell(ended())
    expect(shown()).toEqual(['plain: 『旅費の精算』の回答が完了しました。'])
    store.get(toastsAtom)[0]?.action?.run()
    await act(async () => {})
    expect(router.state.location.pathname).toBe('/chat/t')
  })

  it('is no longer told of once its thread is opened', () => {
    tell(ended())
    expect(shown()).toHaveLength(1)
    markThreadShown('t')()
    expect(shown()).toEqual([])
  })

  it('is not told of because a rating was withdrawn', () => {
    tell(ended({ feedback: { rating: 'good' } }))
    tell(ended())
    expect(shown()).toEqual([])
  })

  it('says so when it failed', () => {
    tell(ended({ status: 'failed', finish_reason: 'error' }))
    expect(shown()).toEqual(['danger: 『旅費の精算』の回答を作成できませんでした。'])
  })

  it.each([
    { status: 'running' },
    { role: 'user' },
    { finish_reason: 'stopped' },
    { feedback: { rating: 'good' } },
  ] as const)('is not one with %o', (change) => {
    tell(ended(change))
    expect(shown()).toEqual([])
  })

  it('is not told of to who looks at it', () => {
    const leave = markThreadShown('t')
    tell(ended())
    expect(shown()).toEqual([])
    leave()
    tell(ended({ id: 'next' }))
    expect(shown()).toHaveLength(1)
  })

  it('is not told of in a hidden tab', () => {
    vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
    tell(ended())
    expect(shown()).toEqual([])
  })

  it('is named by its thread, shortly, and by no name if it is not at hand', () => {
    fillList(threadsQuery, [thread('t', 'とても長い題名のスレッドなので途中で切られて短く示される')])
    tell(ended())
    expect(shown()).toEqual([
      'plain: 『とても長い題名のスレッドなので途中で切られて短…』の回答が完了しました。',
    ])
    fillList(threadsQuery, [])
    tell(ended({ id: 'next' }))
    // A thread has one toast.
    expect(shown()).toEqual(['plain: 『新しいチャット』の回答が完了しました。'])
  })
})
