import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { changeItems, itemsOf, listQuery, useList } from './lists'
import type { Page } from './pages'
import { queryClient, reload } from './queries'

interface Item {
  readonly id: string
  readonly name?: string
}

const item = (id: number): Item => ({ id: String(id) })

/** A list on a server whose responses can be delayed. They contain the state at the time of the request. */
function listOf(total: number, size: number) {
  let gate: Promise<void> | null = null
  let fail = false
  const rows = Array.from({ length: total }, (_, at) => item(at))
  const read = vi.fn(async ({ offset, limit }: Page) => {
    const page = rows.slice(offset, offset + limit)
    await gate
    if (fail) throw new Error('down')
    return { items: page }
  })
  const query = {
    ...listQuery<Item>(['numbers'], size, read),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  }
  const { result, unmount } = renderHook(() => useList(query))
  const rendered = () => act(() => new Promise((resolve) => setTimeout(resolve)))
  const settled = async () => {
    await vi.waitFor(() => expect(queryClient.isFetching(query)).toBe(0))
    await rendered()
  }
  return {
    query,
    rows,
    read,
    unmount,
    settled,
    list: () => result.current,
    ids: () => result.current.items.map(({ id }) => id),
    more: () => {
      act(() => result.current.loadMore())
      return settled()
    },
    change: (change: (items: readonly Item[]) => readonly Item[]) => act(() => changeItems(query, change)),
    refresh: () => reload(query.queryKey),
    asked: () => act(() => vi.waitFor(() => expect(result.current.asking).toBe(true))),
    hold: () => {
      let open = () => {}
      gate = new Promise((resolve) => {
        open = () => {
          gate = null
          resolve()
        }
      })
      return () => open()
    },
    setFail: (value: boolean) => {
      fail = value
    },
  }
}

describe('a paged list', () => {
  beforeEach(() => queryClient.clear())
  afterEach(() => queryClient.clear())

  it('loads the first page, then appends the next ones until one is not full', async () => {
    const { list, read, more, settled } = listOf(25, 10)
    expect(list()).toMatchObject({ loading: true, loaded: false, items: [] })
    await settled()
    expect(list()).toMatchObject({ loading: false, error: null, hasMore: true, ready: true, loaded: true })
    await more()
    await more()
    expect(list().items).toHaveLength(25)
    expect(list().hasMore).toBe(false)
    await more()
    expect(read.mock.calls.map(([page]) => page.offset)).toEqual([0, 10, 20])
  })

  it('may have more items after a full last page, until the next page is empty', async () => {
    const { list, more, settled } = listOf(20, 10)
    await settled()
    await more()
    expect(list().hasMore).toBe(true)
    await more()
    expect(list().hasMore).toBe(false)
    expect(list().items).toHaveLength(20)
  })

  it('ignores a call for more during a request', async () => {
    const { list, read, asked, settled, hold } = listOf(25, 10)
    await settled()
    const open = hold()
    act(() => list().loadMore())
    await asked()
    expect(list()).toMatchObject({ loading: true, ready: false })
    act(() => list().loadMore())
    open()
    await settled()
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('keeps its items when the next page fails, and can continue', async () => {
    const { list, more, settled, setFail } = listOf(25, 10)
    await settled()
    setFail(true)
    await more()
    expect(list().error?.message).toBe('down')
    expect(list()).toMatchObject({ ready: false, hasMore: true })
    expect(list().items).toHaveLength(10)
    setFail(false)
    act(() => list().retry())
    await settled()
    expect(list().error).toBeNull()
    expect(list().items).toHaveLength(20)
  })

  it('reports that the first page failed, and retries', async () => {
    const { list, settled, setFail } = listOf(5, 10)
    setFail(true)
    await settled()
    expect(list()).toMatchObject({ loaded: false, loading: false, error: { message: 'down' } })
    setFail(false)
    act(() => list().retry())
    await settled()
    expect(list()).toMatchObject({ loaded: true, error: null })
  })

  it('shows an item that moved to another page once', async () => {
    const { list, rows, more, settled, ids } = listOf(25, 10)
    await settled()
    rows.unshift(...rows.splice(15, 1))
    await more()
    expect(new Set(ids()).size).toBe(list().items.length)
    await more()
    // The next page begins after the loaded items, so that none is skipped.
    expect(ids().toSorted()).toEqual(
      rows
        .map(({ id }) => id)
        .filter((id) => id !== '15')
        .toSorted(),
    )
  })

  it('begins the next page after local additions and removals', async () => {
    const { read, rows, change, more, settled, ids } = listOf(25, 10)
    await settled()
    rows.splice(0, 2)
    change((items) => items.slice(2))
    await more()
    expect(read).toHaveBeenLastCalledWith({ offset: 8, limit: 10 }, expect.anything())
    expect(ids()).toEqual(rows.slice(0, 18).map(({ id }) => id))
  })

  it('reloads the loaded items without an indicator', async () => {
    const { list, rows, more, asked, settled, refresh, setFail, hold, ids } = listOf(25, 10)
    await settled()
    await more()
    rows.unshift(item(99))
    rows.splice(3, 1)
    const open = hold()
    void refresh()
    await asked()
    expect(list()).toMatchObject({ asking: true, loading: false, error: null })
    open()
    await settled()
    expect(ids()).toEqual(rows.slice(0, 20).map(({ id }) => id))
    expect(list().hasMore).toBe(true)
    setFail(true)
    await refresh()
    await settled()
    expect(list()).toMatchObject({ error: null, loaded: true, ready: true })
    expect(list().items).toHaveLength(20)
  })

  it('does not revert changes that occur during a reload, even if they occur often', async () => {
    const { rows, asked, change, settled, refresh, read, hold, ids } = listOf(3, 10)
    await settled()
    const open = hold()
    void refresh()
    await asked()
    for (const id of [7, 8, 9]) {
      rows.unshift(item(id))
      change((items) => [item(id), ...items.filter((other) => other.id !== String(id))])
    }
    change((items) => items.filter(({ id }) => id !== '1'))
    open()
    await settled()
    expect(ids()).toEqual(['9', '8', '7', '0', '2'])
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('keeps changes that occur while its first page, or a further one, is loading', async () => {
    const { change, settled, hold, list, ids } = listOf(15, 10)
    const first = hold()
    change((items) => [item(99), ...items])
    first()
    await settled()
    expect(ids().slice(0, 2)).toEqual(['99', '0'])
    const next = hold()
    act(() => list().loadMore())
    change((items) => items.map((one) => (one.id === '3' ? { ...one, name: 'drei' } : one)))
    next()
    await settled()
    expect(list().items.find(({ id }) => id === '3')?.name).toBe('drei')
    expect(ids()).toContain('14')
  })

  it('ignores changes before it is loaded', () => {
    const query = listQuery<Item>(['unread'], 10, async () => ({ items: [] }))
    changeItems(query, () => [item(1)])
    expect(itemsOf(query)).toEqual([])
    expect(queryClient.getQueryData(query.queryKey)).toBeUndefined()
  })

  it('remains stale after a change', async () => {
    const { query, change, settled, unmount } = listOf(5, 10)
    await settled()
    unmount()
    await reload(query.queryKey)
    change((items) => items.slice(1))
    expect(queryClient.getQueryState(query.queryKey)?.isInvalidated).toBe(true)
    expect(itemsOf(query)).toHaveLength(4)
  })
})
