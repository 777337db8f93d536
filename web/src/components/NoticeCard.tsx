import { Info, TriangleAlert, Wrench } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Notification } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatDate } from '@/lib/ui/dates'
import { LinkedText } from './LinkedText'
import styles from './NoticeCard.module.css'

const icons = { info: Info, warning: TriangleAlert, maintenance: Wrench } as const

/** The names of the levels of a notice. */
export const noticeLevels = { info: 'お知らせ', warning: 'ご注意', maintenance: 'メンテナンス' } as const

/** A notice as members see it at the top of their skills; `children` is at its end, such as the button to close it. */
export function NoticeCard({
  notice,
  className,
  children,
}: {
  notice: Pick<Notification, 'title' | 'body' | 'url' | 'level' | 'published_at'>
  className?: string | undefined
  children?: ReactNode
}) {
  const Icon = icons[notice.level]
  return (
    <article className={cx(styles.notice, className)} data-level={notice.level}>
      <Icon size={18} aria-label={noticeLevels[notice.level]} />
      <div>
        <h2>
          {notice.title}
          <time dateTime={notice.published_at}>{formatDate(notice.published_at)}</time>
        </h2>
        <p>
          <LinkedText text={notice.body} />
          {notice.url && (
            <a className={styles.more} href={notice.url} target="_blank" rel="noreferrer">
              詳しく見る
              <span className="visually-hidden">（新しいタブで開きます）</span>
            </a>
          )}
        </p>
      </div>
      {children}
    </article>
  )
}
