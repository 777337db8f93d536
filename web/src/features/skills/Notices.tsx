import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { IconButton } from '@/components/IconButton'
import { NoticeCard } from '@/components/NoticeCard'
import { markRead } from '@/entities/notice/notifications'
import type { Notification } from '@/lib/api'
import { notificationsQuery } from '@/lib/api/queries'
import styles from './Notices.module.css'
import { texts } from './texts'

const SHOWN = 3

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
        <NoticeCard key={item.id} notice={item} className={styles.notice}>
          <IconButton size="sm" label={texts.close(item.title)} onClick={() => close(item, index)}>
            <X size={16} />
          </IconButton>
        </NoticeCard>
      ))}
    </section>
  )
}
