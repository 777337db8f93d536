import { api, type Notification } from './api'
import { notificationsQuery, queryClient } from './queries'

/** Marks notices as read, here at once; a failure brings them back with the next load, and is not worth a word. */
export async function markRead(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const read = (item: Notification) => (ids.includes(item.id) ? { ...item, read: true } : item)
  queryClient.setQueryData(notificationsQuery.queryKey, (items) => items?.map(read))
  try {
    await api.readNotifications([...ids])
  } catch {
    await queryClient.invalidateQueries({ queryKey: notificationsQuery.queryKey })
  }
}
