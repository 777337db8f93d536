import { Info, TriangleAlert, Wrench } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import type { Notification } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatDate } from '@/lib/ui/dates'
import { LinkedText } from './LinkedText'
import styles from './NoticeCard.module.css'

const icons = { info: Info, warning: TriangleAlert, maintenance: Wrench } as const

/** The names of the levels of a notice. */
export const noticeLevels = { info: 'お知らせ', warning: 'ご注意', maintenance: 'メンテナンス' } as const

/** A notice as members see it at the top of their skills. `children` are at its end, such as the button to close it. */
export function NoticeCard({
  notice,
  className,
  text,
  children,
}: {
  notice: Pick<Notification, 'title' | 'body' | 'url' | 'level' | 'published_at'>
  className?: string | undefined
  text?: Ref<HTMLDivElement>
  children?: ReactNode
}) {
  return (
    <NoticeBox
      level={notice.level}
      className={className}
      text={text}
      title={
        <>
          {notice.title}
          <time dateTime={notice.published_at}>{formatDate(notice.published_at)}</time>
        </>
      }
      end={children}
    >
      <p>
        <LinkedText text={notice.body} />
        {notice.url && (
          <a className={styles.more} href={notice.url} target="_blank" rel="noreferrer">
            詳しく見る
            <span className="visually-hidden">（新しいタブで開きます）</span>
          </a>
        )}
      </p>
    </NoticeBox>
  )
}

interface NoticeBoxProps {
  readonly level: Notification['level']
  readonly title: ReactNode
  readonly className?: string | undefined
  /** A reference to the box of the title and the text. */
  readonly text?: Ref<HTMLDivElement> | undefined
  /** The content after the text, such as a button. */
  readonly end?: ReactNode
  readonly children: ReactNode
}

/** The box of a notice: its level as an icon, its title, its text. */
export function NoticeBox({ level, title, className, text, end, children }: NoticeBoxProps) {
  const Icon = icons[level]
  return (
    <article className={cx(styles.notice, className)} data-level={level}>
      <Icon size={18} aria-label={noticeLevels[level]} />
      <div ref={text}>
        <h2>{title}</h2>
        {children}
      </div>
      {end}
    </article>
  )
}
