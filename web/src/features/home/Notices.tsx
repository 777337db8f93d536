import { useQuery } from '@tanstack/react-query'
import { Bell } from 'lucide-react'
import { Button } from '@/components/Button'
import { Badge } from '@/components/Chip'
import { IconButton } from '@/components/IconButton'
import { LinkedText } from '@/components/LinkedText'
import { Popover } from '@/components/Popover'
import { EmptyState, ErrorState } from '@/components/States'
import { markRead } from '@/entities/notice/notifications'
import type { Notification } from '@/lib/api'
import { notificationsQuery } from '@/lib/api/queries'
import { formatDate, formatFull } from '@/lib/ui/dates'
import header from './Header.module.css'
import styles from './Notices.module.css'
import { texts } from './texts'

/** Notices is the bell with the number of unread notices, and its list of notices. */
export function Notices() {
  const query = useQuery(notificationsQuery)
  const items = query.data ?? []
  const unread = items.filter((item) => !item.read).map((item) => item.id)
  const label = texts.notices.label(unread.length)
  return (
    <Popover
      label={texts.notices.title}
      trigger={
        <IconButton label={label} className={header.bell}>
          <Bell size={18} />
          {unread.length > 0 && (
            <Badge label={texts.notices.unread(unread.length)} className={header.count}>
              {unread.length > 99 ? '99+' : unread.length}
            </Badge>
          )}
        </IconButton>
      }
    >
      <div className={styles.panel}>
        <div className={styles.head}>
          <h2>{texts.notices.title}</h2>
          {unread.length > 0 && (
            <Button variant="link" size="sm" onClick={() => void markRead(unread)}>
              {texts.notices.readAll}
            </Button>
          )}
        </div>
        {query.isError && items.length === 0 && <ErrorState onRetry={() => void query.refetch()} />}
        {query.isSuccess && items.length === 0 && <EmptyState title={texts.notices.empty} />}
        <ul className={styles.list}>
          {items.map((item) => (
            <Notice key={item.id} notice={item} />
          ))}
        </ul>
      </div>
    </Popover>
  )
}

function Notice({ notice }: { notice: Notification }) {
  return (
    <li className={styles.notice} data-unread={!notice.read || undefined}>
      <h3>
        {!notice.read && <span className="visually-hidden">{texts.notices.unreadMark} </span>}
        {notice.title}
      </h3>
      <p>
        <LinkedText text={notice.body} />
      </p>
      <div className={styles.foot}>
        <time dateTime={notice.published_at} title={formatFull(notice.published_at)}>
          {formatDate(notice.published_at)}
        </time>
        {notice.url && (
          <a href={notice.url} target="_blank" rel="noreferrer" onClick={() => void markRead([notice.id])}>
            {texts.notices.more}
            <span className="visually-hidden">{texts.newTab}</span>
          </a>
        )}
      </div>
    </li>
  )
}
