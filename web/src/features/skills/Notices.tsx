import { useQuery } from '@tanstack/react-query'
import { Info, TriangleAlert, Wrench, X } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import type { Notification } from '@/lib/api'
import { formatDate } from '@/lib/dates'
import { markRead } from '@/lib/notifications'
import { notificationsQuery } from '@/lib/queries'
import styles from './Notices.module.css'
import { texts } from './texts'

const SHOWN = 3

const icons = { info: Info, warning: TriangleAlert, maintenance: Wrench } as const

/** The unread notices at the top of the page; closing one marks it as read. */
export function Notices() {
  const unread = useQuery(notificationsQuery).data?.filter((item) => !item.read) ?? []
  if (unread.length === 0) return null
  return (
    <section className={styles.notices} aria-label={texts.notices}>
      {unread.slice(0, SHOWN).map((item) => (
        <Notice key={item.id} notice={item} />
      ))}
    </section>
  )
}

function Notice({ notice }: { notice: Notification }) {
  const Icon = icons[notice.level]
  return (
    <article className={styles.notice} data-level={notice.level}>
      <Icon size={18} aria-label={texts.levels[notice.level]} />
      <div>
        <h2>
          {notice.title}
          <time dateTime={notice.published_at}>{formatDate(notice.published_at)}</time>
        </h2>
        <p>
          {notice.body}
          {notice.url && (
            <a href={notice.url} target="_blank" rel="noreferrer">
              {texts.more}
              <span className="visually-hidden">{texts.newTab}</span>
            </a>
          )}
        </p>
      </div>
      <IconButton size="sm" label={texts.close(notice.title)} onClick={() => void markRead([notice.id])}>
        <X size={16} />
      </IconButton>
    </article>
  )
}
