import { QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Notification } from '@/lib/api'
import { notificationsQuery, queryClient } from '@/lib/api/queries'
import { answerCalls } from '@/lib/api/testing'
import type { Live, LiveEvents } from '@/lib/live'
import { followNotifications, markRead } from './notifications'

const notice = (id: string, day: number, read = false): Notification => ({
  id,
  title: id,
  body: '',
  level: 'info',
  published_at: `2026-03-0${day}T00:00:00Z`,
  read,
})

describe('notices from the server', () => {
  let tell: (event: LiveEvents['notification']) => void = () => {}
  let miss = () => {}
  const live = {
    on: (_: string, listener: never) => {
      tell = listener
      return () => {}
    },
    onMissed: (listener: () => void) => {
      miss = listener
      return () => {}
    },
  } as Pick<Live, 'on' | 'onMissed'>
  const shown = () =>
    queryClient.getQueryData(notificationsQuery.queryKey)?.map(({ id, read }) => (read ? `(${id})` : id))

  beforeEach(() => {
    queryClient.clear()
    followNotifications(live)
  })

  it('are in order without duplicates, and are read after being read in another tab', () => {
    queryClient.setQueryData(notificationsQuery.queryKey, [notice('b', 2), notice('a', 1)])
    tell({ notification: notice('c', 3) })
    tell({ notification: notice('c', 3) })
    expect(shown()).toEqual(['c', 'b', 'a'])
    tell({ read: ['a', 'c', 'unknown'] })
    expect(shown()).toEqual(['(c)', 'b', '(a)'])
  })

  it('stay read when they are edited, and disappear when they expire', () => {
    queryClient.setQueryData(notificationsQuery.queryKey, [notice('b', 2), notice('a', 1, true)])
    tell({ notification: { ...notice('a', 1), title: '新' } })
    expect(shown()).toEqual(['b', '(a)'])
    expect(queryClient.getQueryData(notificationsQuery.queryKey)?.[1]?.title).toBe('新')
    tell({ id: 'b', ended: true })
    tell({ id: 'unknown', ended: true })
    expect(shown()).toEqual(['(a)'])
  })

  describe('while the list is loading', () => {
    const answers: ((items: Notification[]) => void)[] = []
    let refuse: (cause: Error) => void = () => {}
    let stop = () => {}

    beforeEach(() => {
      answers.length = 0
      const listNotifications = () =>
        new Promise((resolve, reject) => {
          answers.push((items) => resolve({ items }))
          refuse = reject
        })
      answerCalls({ listNotifications })
      stop = new QueryObserver(queryClient, { ...notificationsQuery, retry: false }).subscribe(() => {})
    })
    afterEach(() => stop())

    it.each<[string, () => void, string[]]>([
      ['add a notice', () => tell({ notification: notice('b', 2) }), ['b', 'a']],
      ['mark a notice as read', () => tell({ read: ['a'] }), ['(a)']],
    ])('for the first time, events that %s take effect', async (_, happens, then) => {
      happens()
      answers[0]?.([notice('a', 1)])
      await vi.waitFor(() => expect(shown()).toEqual(then))
      expect(answers).toHaveLength(1)
    })

    it('for the first time, missed events cause another load', async () => {
      miss()
      await vi.waitFor(() => expect(answers).toHaveLength(2))
      answers[0]?.([])
      answers[1]?.([notice('b', 2)])
      await vi.waitFor(() => expect(shown()).toEqual(['b']))
    })

    it('and the load fails, the next event causes another one', async () => {
      const list = queryClient.fetchQuery({ ...notificationsQuery, retry: false })
      refuse(new Error('nothing came'))
      await expect(list).rejects.toThrow()
      tell({ notification: notice('b', 2) })
      await vi.waitFor(() => expect(answers).toHaveLength(2))
    })

    it('again, newer events are not reverted by the older response', async () => {
      answers[0]?.([notice('a', 1)])
      await vi.waitFor(() => expect(shown()).toEqual(['a']))
      miss()
      await vi.waitFor(() => expect(answers).toHaveLength(2))
      tell({ notification: notice('b', 2) })
      expect(shown()).toEqual(['b', 'a'])
      answers[1]?.([notice('a', 1, true)])
      await vi.waitFor(() => expect(shown()).toEqual(['b', '(a)']))
      expect(answers).toHaveLength(2)
    })
  })

  it.each(['before the server has that', 'after it'])(
    'stay read here, though a list from before comes %s',
    async (when) => {
      const answers: ((items: Notification[]) => void)[] = []
      let take = () => {}
      const taken = new Promise<void>((done) => {
        take = done
      })
      answerCalls({
        listNotifications: () => new Promise((done) => answers.push((items) => done({ items }))),
        readNotifications: () => taken,
      })
      queryClient.setQueryData(notificationsQuery.queryKey, [notice('a', 1)])
      const stop = new QueryObserver(queryClient, notificationsQuery).subscribe(() => {})
      void queryClient.invalidateQueries({ queryKey: notificationsQuery.queryKey })
      await vi.waitFor(() => expect(answers).toHaveLength(1))
      const marked = markRead(['a'])
      expect(shown()).toEqual(['(a)'])
      if (when === 'after it') take()
      else answers[0]?.([notice('a', 1)])
      await new Promise((resolve) => setTimeout(resolve))
      take()
      answers[0]?.([notice('a', 1)])
      await marked
      await new Promise((resolve) => setTimeout(resolve))
      expect(shown()).toEqual(['(a)'])
      stop()
    },
  )

  it('are not reloaded after missed events while nothing shows them', () => {
    tell({ notification: notice('c', 3) })
    miss()
    expect(shown()).toBeUndefined()
  })
})
