import { describe, expect, it, vi } from 'vitest'
import type { Page } from './client'
import { PagedList } from './pagedList'

const item = (id: number) => ({ id: String(id) })

/** A list on a server, with answers that can be held back. */
function listOf(total: number, size: number) {
  let gate: Promise<void> | null = null
  let fail = false
  const rows = Array.from({ length: total }, (_, at) => item(at))
  const fetch = vi.fn(async ({ offset, limit }: Page) => {
    await gate
    if (fail) throw new Error('down')
    return rows.slice(offset, offset + limit)
  })
  return {
    list: new PagedList(size, fetch),
    rows,
    fetch,
    hold: () => {
      let open = () => {}
      gate = new Promise((resolve) => {
        open = resolve
      })
      return open
    },
    setFail: (value: boolean) => {
      fail = value
    },
  }
}

describe('a paged list', () => {
  it('loads the first page, then appends the next ones until one is not full', async () => {
    const { list, fetch } = listOf(25, 10)
    await list.load()
    expect(list.state).toMatchObject({ loading: false, error: null, mightHaveMore: true, loaded: true })
    await list.loadMore()
    await list.loadMore()
    expect(list.state.items).toHaveLength(25)
    expect(list.state.mightHaveMore).toBe(false)
    await list.loadMore()
    expect(fetch.mock.calls.map(([page]) => page.offset)).toEqual([0, 10, 20])
  })

  it('might have more after a full last page, and learns otherwise', async () => {
    const { list } = listOf(20, 10)
    await list.load()
    await list.loadMore()
    expect(list.state.mightHaveMore).toBe(true)
    await list.loadMore()
    expect(list.state.mightHaveMore).toBe(false)
    expect(list.state.items).toHaveLength(20)
  })

  it('starts over with the first page', async () => {
    const { list } = listOf(25, 10)
    await list.load()
    await list.loadMore()
    await list.load()
    expect(list.state.items).toHaveLength(10)
  })

  it('ignores concurrent loads', async () => {
    const { list, fetch, hold } = listOf(25, 10)
    const open = hold()
    const first = list.load()
    expect(list.state.loading).toBe(true)
    await Promise.all([list.load(), list.loadMore()])
    open()
    await first
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  it('keeps its items when a load fails, and can go on', async () => {
    const { list, setFail } = listOf(25, 10)
    await list.load()
    setFail(true)
    await list.loadMore()
    expect(list.state.error?.message).toBe('down')
    expect(list.state.items).toHaveLength(10)
    setFail(false)
    await list.loadMore()
    expect(list.state).toMatchObject({ error: null })
    expect(list.state.items).toHaveLength(20)
  })

  it('shows an item that moved to another page once', async () => {
    const { list, rows } = listOf(25, 10)
    await list.load()
    rows.unshift(...rows.splice(15, 1))
    await list.loadMore()
    const ids = list.state.items.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('tells its listeners about every change', async () => {
    const { list } = listOf(5, 10)
    const listener = vi.fn()
    const stop = list.subscribe(listener)
    await list.load()
    list.update((items) => items.slice(1))
    expect(listener).toHaveBeenCalledTimes(3)
    expect(list.state.items).toHaveLength(4)
    stop()
    list.update(() => [])
    expect(listener).toHaveBeenCalledTimes(3)
  })

  it('reads anew what is at hand, without a sign of it', async () => {
    const { list, rows, fetch, setFail } = listOf(25, 10)
    await list.load()
    await list.loadMore()
    rows.unshift(item(99))
    rows.splice(3, 1)
    const seen: boolean[] = []
    list.subscribe(() => seen.push(list.state.loading))
    await list.refresh()
    expect(fetch).toHaveBeenLastCalledWith({ offset: 0, limit: 20 })
    expect(list.state.items).toEqual(rows.slice(0, 20))
    expect(list.state.mightHaveMore).toBe(true)
    expect(seen).toEqual([false])
    setFail(true)
    await list.refresh()
    expect(list.state).toMatchObject({ error: null, loaded: true })
    expect(list.state.items).toHaveLength(20)
  })

  it('does not take back what has happened while it was read anew, but once what happens all the time', async () => {
    const { list, rows, fetch } = listOf(5, 10)
    await list.load()
    const old = [...rows]
    const answers: (() => void)[] = []
    const late = () => new Promise<{ id: string }[]>((resolve) => answers.push(() => resolve(old)))
    fetch.mockImplementationOnce(late).mockImplementationOnce(late)
    const refreshed = list.refresh()
    rows.unshift(item(99))
    list.update((items) => [item(99), ...items])
    const seen: (string | undefined)[] = []
    list.subscribe(() => seen.push(list.state.items[0]?.id))
    list.outdate()
    answers[0]?.()
    await vi.waitFor(() => expect(answers).toHaveLength(2))
    expect(seen).toEqual([])
    list.outdate()
    answers[1]?.()
    await refreshed
    expect(seen).toEqual(['0', '99'])
  })

  it('makes up for a refresh that was asked for during another one, and lets a page wait for both', async () => {
    const { list, rows, fetch, hold } = listOf(25, 10)
    await list.refresh()
    expect(fetch).not.toHaveBeenCalled()
    const first = list.load()
    list.outdate()
    await first
    await vi.waitFor(() => expect(fetch).toHaveBeenCalledTimes(2))
    await list.refresh()
    list.outdate()
    const open = hold()
    const refreshed = list.refresh()
    void list.refresh()
    const more = list.loadMore()
    rows.unshift(item(99))
    open()
    await Promise.all([refreshed, more])
    expect(fetch.mock.calls.slice(3).map(([page]) => page)).toEqual([
      { offset: 0, limit: 10 },
      { offset: 10, limit: 10 },
      { offset: 0, limit: 19 }, // The page before knew of one that is not shown yet.
    ])
    expect(new Set(list.state.items.map(({ id }) => id)).size).toBe(list.state.items.length)
    expect(list.state.items).toEqual(rows.slice(0, list.state.items.length))
    expect(list.state.items).toHaveLength(19)
  })
})
