import { useQuery } from '@tanstack/react-query'
import { Info, TriangleAlert, Wrench, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { IconButton } from '@/components/IconButton'
import { markRead } from '@/entities/notice/notifications'
import type { Notification } from '@/lib/api'
import { notificationsQuery } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import styles from './Notices.module.css'
import { texts } from './texts'

const SHOWN = 3

const icons = { info: Info, warning: TriangleAlert, maintenance: Wrench } as const

/** The unread notices at the top of the page; closing one marks it as read. */
export function Notices() {
  const unread = useQuery(notificationsQuery).data?.filter((item) => !item.read) ?? []
  const section = useRef<HTMLElement>(null)
  /** The position of the notice that was just closed: the next notice at this position gets the lost focus. */
  const place = useRef<number>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when a notice has gone.
  useEffect(() => {
    if (place.current === null) return
    const buttons = [...(section.current?.querySelectorAll('button') ?? [])]
    const next = buttons[place.current] ?? buttons.at(-1) ?? document.querySelector<HTMLElement>('main')
    place.current = null
    next?.focus({ preventScroll: true })
  }, [unread.length])

  if (unread.length === 0) return null
  const close = (item: Notification, index: number) => {
    place.current = index
    void markRead([item.id])
  }
  return (
    <section ref={section} className={styles.notices} aria-label={texts.notices}>
      {unread.slice(0, SHOWN).map((item, index) => (
        <Notice key={item.id} notice={item} onClose={() => close(item, index)} />
      ))}
    </section>
  )
}

function Notice({ notice, onClose }: { notice: Notification; onClose: () => void }) {
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
      <IconButton size="sm" label={texts.close(notice.title)} onClick={onClose}>
        <X size={16} />
      </IconButton>
    </article>
  )
}
