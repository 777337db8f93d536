import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Notification } from './api'
import type { Live, LiveEvents } from './live'
import { followNotifications } from './notifications'
import { notificationsQuery, queryClient } from './queries'

const notice = (id: string, day: number, read = false): Notification => ({
  id,
  title: id,
  body: '',
  level: 'info',
  published_at: `2026-03-0${day}T00:00:00Z`,
  read,
})

describe('notices as the server tells them', () => {
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

  it('come in their order, each once, and are read where they were read elsewhere', () => {
    queryClient.setQueryData(notificationsQuery.queryKey, [notice('b', 2), notice('a', 1)])
    tell({ notification: notice('c', 3) })
    tell({ notification: notice('c', 3) })
    expect(shown()).toEqual(['c', 'b', 'a'])
    tell({ read: ['a', 'c', 'unknown'] })
    expect(shown()).toEqual(['(c)', 'b', '(a)'])
  })

  it('wait for the list to be read at all', () => {
    tell({ notification: notice('c', 3) })
    tell({ read: ['c'] })
    expect(shown()).toBeUndefined()
  })

  it('are read anew when some may have been missed', () => {
    const invalidate = vi.spyOn(queryClient, 'invalidateQueries').mockResolvedValue()
    miss()
    expect(invalidate).toHaveBeenCalledWith({ queryKey: notificationsQuery.queryKey })
  })
})
