import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DataSource, JobStatus } from '@/lib/api'
import { itemsOf } from '@/lib/api/lists'
import { queryClient } from '@/lib/api/queries'
import type { Live, LiveEvents } from '@/lib/live'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import {
  addUploaded,
  changeReading,
  followSources,
  sourceDeletions,
  sourcesQuery,
  useSourceSearch,
  useSources,
} from './dataSources'

const source = (id: string, hour: number, change: Partial<DataSource> = {}): DataSource => ({
  id,
  filename: `${id}.md`,
  media_type: 'text/markdown',
  size: 10,
  sha256: id,
  status: 'success',
  page_count: 1,
  chunk_count: 1,
  revision: 3,
  created_at: `2026-03-01T${String(hour).padStart(2, '0')}:00:00Z`,
  ...change,
})

const step = (status: JobStatus, revision: number) => source('p3', 20, { status, revision })

const shown = () => renderHook(() => useSources()).result.current.items.map(({ id }) => id)
const find = (id: string) => itemsOf(sourcesQuery).find((item) => item.id === id)
const lastToast = () => store.get(toastsAtom).at(-1)

// The app has one list, and a deleted data source stays deleted. So each test uses other ids.
let page: DataSource[] = []
let round = 0
const ids = () => page.map(({ id }) => id)

describe('the data sources', () => {
  const server = vi.fn<typeof fetch>()
  const calls = (method: string) =>
    server.mock.calls.filter(([request]) => (request as Request).method === method).length
  const answer = (items: DataSource[]) =>
    server.mockImplementation(async (request) =>
      (request as Request).method === 'DELETE'
        ? new Response(null, { status: 204 })
        : Response.json({ items }),
    )
  const emit: { event: (event: LiveEvents['data_source']) => void; missed: () => void } = {
    event: () => {},
    missed: () => {},
  }
  const live = {
    on: (_: string, listener: never) => {
      emit.event = listener
      return () => {}
    },
    onMissed: (listener: () => void) => {
      emit.missed = listener
      return () => {}
    },
  }
  let stop = () => {}

  beforeEach(async () => {
    vi.useFakeTimers()
    server.mockReset()
    vi.stubGlobal('fetch', server)
    round++
    page = Array.from({ length: 20 }, (_, at) => source(`${round}-${String(at).padStart(2, '0')}`, 23 - at))
    answer(page)
    queryClient.clear()
    await queryClient.fetchInfiniteQuery(sourcesQuery)
    server.mockClear()
    stop = followSources(live as Pick<Live, 'on' | 'onMissed'>)
  })

  afterEach(() => stop())

  describe('and events', () => {
    it('add new, change known and remove deleted ones, newest first', () => {
      const [first, second] = ids()
      emit.event({ data_source: source('new', 22, { id: `${round}-new`, status: 'pending', revision: 1 }) })
      expect(shown().slice(0, 3)).toEqual([first, `${round}-new`, second])
      emit.event({ data_source: { ...(page[1] as DataSource), page_count: 9, revision: 4 } })
      expect(find(second ?? '')?.page_count).toBe(9)
      emit.event({ id: first ?? '', deleted: true })
      expect(shown()[0]).toBe(`${round}-new`)
    })

    it('ignore those beyond the loaded part of the list', () => {
      emit.event({ data_source: source('old', 1, { id: `${round}-old` }) })
      expect(shown()).toEqual(ids())
    })

    it.each<[JobStatus, number, JobStatus, number, JobStatus]>([
      ['running', 2, 'pending', 1, 'running'],
      ['success', 3, 'running', 2, 'success'],
      ['failed', 3, 'pending', 1, 'failed'],
      // The same content was uploaded again and is parsed again.
      ['failed', 3, 'pending', 4, 'pending'],
      ['success', 6, 'failed', 3, 'success'],
    ])(
      'show status %s (%i) and not an older one that arrives later: %s (%i)',
      (status, revision, later, at, wins) => {
        const id = `${round}-step`
        emit.event({ data_source: { ...step(status, revision), id } })
        emit.event({ data_source: { ...step(later, at), id } })
        expect(find(id)?.status).toBe(wins)
      },
    )

    it('repeat a search when a file was read, but not while its vectors are computed', async () => {
      const { unmount } = renderHook(() => useSourceSearch('会議'))
      await act(() => vi.advanceTimersByTimeAsync(1000))
      const embedding = { stage: 'embedding', done: 1, total: 2 } as const
      for (const [change, searches] of [
        [{ revision: 4 }, 1],
        [{ revision: 5, progress: embedding }, 0],
      ] as const) {
        server.mockClear()
        await act(async () => {
          emit.event({ data_source: { ...(page[0] as DataSource), ...change } })
          await vi.advanceTimersByTimeAsync(1000)
        })
        expect(calls('GET')).toBe(searches)
      }
      unmount()
    })

    it('do not restore a deleted one by an older event', () => {
      const id = ids()[2] ?? ''
      emit.event({ id, deleted: true })
      emit.event({ data_source: { ...(page[2] as DataSource), revision: 9 } })
      expect(shown()).not.toContain(id)
    })

    it('cause a reload if some were missed', async () => {
      const news = [source('only', 20, { id: `${round}-only` })]
      answer(news)
      const looking = renderHook(() => useSources())
      emit.missed()
      await vi.advanceTimersByTimeAsync(0)
      expect(shown()).toEqual([`${round}-only`])
      looking.unmount()
    })

    it('keep changes that arrive during a load', async () => {
      const looking = renderHook(() => useSources())
      let tell = () => {}
      server.mockReturnValueOnce(
        new Promise((resolve) => {
          tell = () => resolve(Response.json({ items: page }))
        }),
      )
      emit.missed()
      await vi.advanceTimersByTimeAsync(0)
      emit.event({ data_source: source('m', 23, { id: `${round}-m` }) })
      tell()
      await vi.advanceTimersByTimeAsync(0)
      expect(calls('GET')).toBe(1)
      expect(shown()).toContain(`${round}-m`)
      looking.unmount()
    })
  })

  it('do not include files of projects whose reading is repeated', async () => {
    server.mockResolvedValue(Response.json(source('of-project', 23, { status: 'pending', revision: 4 })))
    await changeReading(source('of-project', 23, { status: 'failed' }))
    expect(find('of-project')).toBeUndefined()
    const own = page[0] as DataSource
    server.mockResolvedValue(Response.json({ ...own, status: 'failed', revision: 9 }))
    await changeReading({ ...own, status: 'running' })
    expect(find(own.id)).toMatchObject({ status: 'failed' })
  })

  describe('that are uploaded', () => {
    it('are in the list in their newest state', () => {
      const id = `${round}-up`
      emit.event({ data_source: { ...step('success', 3), id } })
      const before = lastToast()
      addUploaded({ source: { ...step('pending', 1), id }, isNew: true })
      expect(find(id)?.status).toBe('success')
      addUploaded({ source: { ...step('pending', 1), id: `${id}2` }, isNew: true })
      expect(find(`${id}2`)?.status).toBe('pending')
      expect(lastToast()).toBe(before)
    })

    it('are reported if they already existed, and their deletion is canceled', async () => {
      const [known] = page as [DataSource]
      act(() => sourceDeletions.delete([known.id]))
      const offer = lastToast()
      act(() => addUploaded({ source: known, isNew: false }))
      expect(shown()).toContain(known.id)
      expect(store.get(toastsAtom)).not.toContain(offer)
      expect(lastToast()?.message).toBe(`「${known.filename}」と同じ内容のファイルがすでにあります。`)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(calls('DELETE')).toBe(0)
    })
  })

  describe('that are deleted', () => {
    it('are hidden, and undo restores them without a call', async () => {
      const [id = ''] = ids()
      const onRestore = vi.fn()
      act(() => sourceDeletions.delete([id], onRestore))
      expect(shown()).not.toContain(id)
      const { action } = lastToast() ?? {}
      expect(action?.label).toBe('元に戻す')
      act(() => action?.run())
      expect(shown()).toEqual(ids())
      expect(onRestore).toHaveBeenCalledOnce()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(server).not.toHaveBeenCalled()
    })

    it('are deleted on the server when the time to undo expires', async () => {
      const [id = ''] = ids()
      act(() => sourceDeletions.delete([id]))
      const offer = lastToast()
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      expect(calls('DELETE')).toBe(1)
      expect(find(id)).toBeUndefined()
      expect(store.get(toastsAtom)).not.toContain(offer)
    })

    it('are deleted at once when the page closes', async () => {
      const [id = ''] = ids()
      act(() => sourceDeletions.delete([id]))
      await act(async () => window.dispatchEvent(new Event('pagehide')))
      await vi.waitFor(() => expect(calls('DELETE')).toBe(1))
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      expect(calls('DELETE')).toBe(1)
    })

    it('by another tab have no undo', async () => {
      const [id = ''] = ids()
      act(() => sourceDeletions.delete([id]))
      const offer = lastToast()
      act(() => emit.event({ id, deleted: true }))
      expect(store.get(toastsAtom)).not.toContain(offer)
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      expect(calls('DELETE')).toBe(0)
      expect(shown()).not.toContain(id)
    })

    it('are shown again if the deletion fails', async () => {
      const [id = ''] = ids()
      server.mockResolvedValue(new Response('{}', { status: 500 }))
      act(() => sourceDeletions.delete([id]))
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      expect(shown()).toContain(id)
      expect(lastToast()?.message).toBe('ファイルを削除できませんでした。')
    })
  })
})
