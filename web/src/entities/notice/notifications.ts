import { call, type Notification } from '@/lib/api'
import { changeData, notificationsQuery, queryClient, reload } from '@/lib/api/queries'
import type { Live } from '@/lib/live'
import { stopAll } from '@/lib/live/live'

const { queryKey } = notificationsQuery

/**
 * markRead marks notices as read, optimistically. A failure is not reported; the next load shows the notices as unread
 * again.
 */
export async function markRead(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  setRead(ids)
  try {
    await call('readNotifications', { body: { ids: [...ids] } })
  } catch {
    return await reload(queryKey)
  }
  // The response of an earlier request may have arrived in the meantime.
  setRead(ids)
}

/** Applies the server's events about notices until the returned function is called. */
export function followNotifications(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  return stopAll(
    live.on('notification', ({ notification, read, id }) => {
      if (notification !== undefined) put(notification)
      else if (read !== undefined) setRead(read)
      else remove(id)
      // Retry a list that failed to load.
      const unread = queryClient.getQueryData(queryKey) === undefined
      if (unread && queryClient.isFetching({ queryKey }) === 0) void reload(queryKey)
    }),
    live.onMissed(() => void reload(queryKey)),
  )
}

// An edited notice keeps its read status.
function put(notification: Notification): void {
  changeData<Notification[]>(queryKey, (items) => {
    const read = items.some((item) => item.id === notification.id && item.read)
    const others = items.filter((item) => item.id !== notification.id)
    return [{ ...notification, read: notification.read || read }, ...others].sort(newestFirst)
  })
}

function remove(id: string): void {
  changeData<Notification[]>(queryKey, (items) => items.filter((item) => item.id !== id))
}

function newestFirst(a: Notification, b: Notification): number {
  return Date.parse(b.published_at) - Date.parse(a.published_at)
}

function setRead(ids: readonly string[]): void {
  const read = (item: Notification) => (ids.includes(item.id) ? { ...item, read: true } : item)
  changeData<Notification[]>(queryKey, (items) => items.map(read))
}
