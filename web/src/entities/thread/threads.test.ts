import { act, renderHook } from '@testing-library/react'
import { createStore } from 'jotai'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Thread } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { fillList } from '@/lib/api/testing'
import type { Live, LiveEvents } from '@/lib/live'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import {
  changeThread,
  findThread,
  followThreads,
  patchThread,
  threadDeletions,
  threadsQuery,
  titleThread,
  upsertThread,
  useThreads,
} from './threads'

const thread = (id: string, hour: number): Thread => ({
  id,
  skill: { id: 's', name: 'スキル', icon_path: '/i.svg' },
  title: id,
  created_at: '2026-03-01T00:00:00Z',
  updated_at: '2026-03-01T00:00:00Z',
  touched_at: `2026-03-01T${String(hour).padStart(2, '0')}:00:00Z`,
  running: false,
  pinned: false,
  archived: false,
  data_sources: [],
})

const shown = () => renderHook(() => useThreads()).result.current.items.map((item) => item.id)

describe('the thread list', () => {
  const server = vi.fn<typeof fetch>()
  const calls = () => server.mock.calls.map(([request]) => (request as Request).method)

  beforeEach(() => {
    vi.useFakeTimers()
    server.mockReset()
    vi.stubGlobal('fetch', server)
    queryClient.clear()
    fillList(threadsQuery, [thread('c', 3), thread('b', 2), thread('a', 1)])
  })

  it('is one store for the whole app', () => {
    expect(store).not.toBe(createStore())
  })

  it('orders threads by their last touch', () => {
    upsertThread(thread('d', 9))
    upsertThread({ ...thread('a', 5), title: '新しい' })
    expect(shown()).toEqual(['d', 'a', 'c', 'b'])
    expect(findThread('a')?.title).toBe('新しい')
  })

  it('ignores threads that it does not contain', () => {
    patchThread('x', { title: 'y' })
    expect(shown()).toEqual(['c', 'b', 'a'])
  })

  it('renames at once, and reverts it if the server refuses', async () => {
    server.mockResolvedValue(new Response('{"detail":"no","code":"invalid"}', { status: 400 }))
    const renaming = changeThread('b', { title: '別名' })
    expect(findThread('b')?.title).toBe('別名')
    await renaming
    expect(findThread('b')?.title).toBe('b')
    expect(store.get(toastsAtom).at(-1)?.action?.label).toBe('やり直す')
  })

  it('uses a title from a stream, unless a newer title is known', () => {
    const told = (text: string, updatedAt: string) => titleThread('b', { text, updatedAt })
    told('作られた題', '2026-03-01T02:00:00.5Z')
    expect(findThread('b')).toMatchObject({ title: '作られた題', updated_at: '2026-03-01T02:00:00.5Z' })
    upsertThread({ ...thread('b', 2), title: '人の題', updated_at: '2026-03-01T03:00:00Z' })
    told('作られた題', '2026-03-01T02:00:00.5Z')
    expect(findThread('b')?.title).toBe('人の題')
    titleThread('x', { text: '知らない題', updatedAt: '2026-03-01T04:00:00Z' })
    expect(shown()).toEqual(['c', 'b', 'a'])
  })

  it('hides a deleted thread, and undo restores it without a call', async () => {
    const onRestore = vi.fn()
    act(() => threadDeletions.delete(['b'], onRestore))
    expect(shown()).toEqual(['c', 'a'])
    const { action } = store.get(toastsAtom).at(-1) ?? {}
    expect(action?.label).toBe('元に戻す')
    act(() => action?.run())
    expect(shown()).toEqual(['c', 'b', 'a'])
    expect(onRestore).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(server).not.toHaveBeenCalled()
  })

  it('deletes on the server when the time to undo expires', async () => {
    server.mockResolvedValue(new Response(null, { status: 204 }))
    act(() => threadDeletions.delete(['b']))
    const offer = store.get(toastsAtom).at(-1)
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(calls()).toEqual(['DELETE'])
    expect(findThread('b')).toBeUndefined()
    // The toast disappears after its time even if the pointer is over it.
    expect(store.get(toastsAtom)).not.toContain(offer)
  })

  it('deletes at once when the page closes', async () => {
    server.mockResolvedValue(new Response(null, { status: 204 }))
    act(() => threadDeletions.delete(['a']))
    await act(async () => window.dispatchEvent(new Event('pagehide')))
    await vi.waitFor(() => expect(calls()).toEqual(['DELETE']))
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(calls()).toEqual(['DELETE'])
  })

  it('shows a thread again if its deletion fails', async () => {
    server.mockResolvedValue(new Response('{}', { status: 500 }))
    act(() => threadDeletions.delete(['c']))
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(shown()).toEqual(['c', 'b', 'a'])
    expect(store.get(toastsAtom).at(-1)?.message).toBe('チャットを削除できませんでした。')
  })

  describe('and events', () => {
    const emit: { thread: (event: LiveEvents['thread']) => void; missed: () => void } = {
      thread: () => {},
      missed: () => {},
    }
    const live = {
      on: (type: string, listener: never) => {
        if (type === 'thread') emit.thread = listener
        return () => {}
      },
      onMissed: (listener: () => void) => {
        emit.missed = listener
        return () => {}
      },
    }
    const answer = (items: Thread[]) => server.mockImplementation(async () => Response.json({ items }))
    const hold = (items: Thread[]) => {
      let tell = () => {}
      server.mockReturnValueOnce(
        new Promise((resolve) => {
          tell = () => resolve(Response.json({ items }))
        }),
      )
      return () => tell()
    }
    const page = Array.from({ length: 20 }, (_, at) => thread(`p${at}`, 23 - at))

    beforeEach(async () => {
      followThreads(live as Pick<Live, 'on' | 'onMissed'>)
      answer(page)
      queryClient.clear()
      await queryClient.fetchInfiniteQuery(threadsQuery)
    })

    it('adds new, changes known and removes deleted threads', () => {
      emit.thread({ thread: { ...thread('p3', 20), title: '新しい題名', running: true } })
      expect(findThread('p3')).toMatchObject({ title: '新しい題名', running: true })
      emit.thread({ thread: thread('new', 23) })
      emit.thread({ id: 'p0', deleted: true })
      expect(shown().slice(0, 3)).toEqual(['new', 'p1', 'p2'])
    })

    it('ignores threads beyond the loaded part of the list', () => {
      emit.thread({ thread: thread('old', 1) })
      expect(shown()).toHaveLength(20)
      emit.thread({ thread: { ...thread('p19', 4), touched_at: '2026-03-02T00:00:00Z' } })
      expect(shown()[0]).toBe('p19')
    })

    it('does not revert to an older record', () => {
      emit.thread({ thread: { ...thread('p3', 20), title: '後', updated_at: '2026-03-03T00:00:00Z' } })
      emit.thread({ thread: { ...thread('p3', 20), title: '先', updated_at: '2026-03-02T00:00:00Z' } })
      expect(findThread('p3')?.title).toBe('後')
    })

    it('offers no undo after another tab has deleted the thread', async () => {
      act(() => threadDeletions.delete(['p1']))
      const offer = store.get(toastsAtom).at(-1)
      server.mockClear()
      act(() => emit.thread({ id: 'p1', deleted: true }))
      expect(store.get(toastsAtom)).not.toContain(offer)
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      expect(server).not.toHaveBeenCalled()
      expect(shown()).not.toContain('p1')
    })

    it('reloads after missed events, and keeps changes that arrive during the load', async () => {
      const looking = renderHook(() => useThreads())
      server.mockClear()
      const told = hold([thread('n', 22)])
      emit.missed()
      await vi.advanceTimersByTimeAsync(0)
      emit.thread({ thread: thread('m', 23) })
      expect(findThread('m')).toBeDefined()
      told()
      await vi.advanceTimersByTimeAsync(0)
      expect(shown()).toEqual(['m', 'n'])
      expect(server).toHaveBeenCalledTimes(1)
      looking.unmount()
    })

    it('keeps a new name when an older response arrives later', async () => {
      const looking = renderHook(() => useThreads())
      const told = hold(page)
      emit.missed()
      await vi.advanceTimersByTimeAsync(0)
      server.mockImplementation(async () => Response.json({ ...thread('p3', 20), title: '別名' }))
      await changeThread('p3', { title: '別名' })
      told()
      await vi.advanceTimersByTimeAsync(0)
      expect(findThread('p3')?.title).toBe('別名')
      looking.unmount()
    })
  })
})
