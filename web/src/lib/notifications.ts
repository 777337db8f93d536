import { api, type Notification } from './api'
import type { Live } from './live'
import { notificationsQuery, queryClient } from './queries'

const { queryKey } = notificationsQuery

/** Marks notices as read, here at once; a failure brings them back with the next load, and is not worth a word. */
export async function markRead(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  setRead(ids)
  try {
    await api.readNotifications([...ids])
  } catch {
    await readAnew()
  }
}

/** Keeps the notices as the server tells them, until the returned function is called. */
export function followNotifications(live: Pick<Live, 'on' | 'onMissed'>): () => void {
  const stops = [
    live.on('notification', ({ notification, read }) => {
      if (notification === undefined) setRead(read)
      else put(notification)
      const list = queryClient.getQueryState(queryKey)
      if (list?.data === undefined || list.fetchStatus !== 'idle') void readAnew()
    }),
    live.onMissed(() => void readAnew()),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Reads the notices once more. An answer that is on its way may have been read before what was told, and is not waited for. */
async function readAnew(): Promise<void> {
  await queryClient.cancelQueries({ queryKey })
  await queryClient.invalidateQueries({ queryKey })
}

function put(notification: Notification): void {
  queryClient.setQueryData(
    queryKey,
    (items) =>
      items && [notification, ...items.filter((item) => item.id !== notification.id)].sort(newestFirst),
  )
}

function newestFirst(a: Notification, b: Notification): number {
  return Date.parse(b.published_at) - Date.parse(a.published_at)
}

function setRead(ids: readonly string[]): void {
  const read = (item: Notification) => (ids.includes(item.id) ? { ...item, read: true } : item)
  queryClient.setQueryData(queryKey, (items) => items?.map(read))
}
