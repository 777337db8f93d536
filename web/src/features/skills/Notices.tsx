import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { NoticeCard } from '@/components/NoticeCard'
import { markRead } from '@/entities/notice/notifications'
import type { Notification } from '@/lib/api'
import { notificationsQuery } from '@/lib/api/queries'
import { cx } from '@/lib/ui/cx'
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
    const buttons = [...(section.current?.querySelectorAll<HTMLElement>('[data-close]') ?? [])]
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

/** A notice. A long one is folded, so that the composer stays on the screen. */
function Notice({ notice, onClose }: { notice: Notification; onClose: () => void }) {
  const [open, setOpen] = useState(false)
  const [cut, setCut] = useState(false)
  const text = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed notice is measured again.
  useEffect(() => {
    const box = text.current
    if (box === null || open) return
    const observer = new ResizeObserver(() => setCut(box.scrollHeight > box.clientHeight))
    observer.observe(box)
    return () => observer.disconnect()
  }, [open, notice])
  return (
    <NoticeCard notice={notice} className={cx(styles.notice, !open && styles.folded)} text={text}>
      {cut && (
        <Button
          variant="link"
          size="sm"
          className={styles.fold}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? texts.fold : texts.unfold}
          <span className="visually-hidden">{notice.title}</span>
        </Button>
      )}
      <IconButton size="sm" label={texts.close(notice.title)} onClick={onClose} data-close>
        <X size={16} />
      </IconButton>
    </NoticeCard>
  )
}
