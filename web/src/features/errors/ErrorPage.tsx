import { type ReactNode, useContext } from 'react'
import { Link } from 'react-router'
import { Logo } from '@/components/Logo'
import { PageTitle } from '@/components/PageTitle'
import { ThreadLine } from '@/components/ThreadLine'
import { cx } from '@/lib/ui/cx'
import { FrameContext } from '@/lib/ui/frame'
import styles from './ErrorPage.module.css'
import { texts } from './texts'

interface ErrorPageProps {
  /** The status in large type. Omitted if there is no HTTP status. */
  code?: string
  title: string
  body: ReactNode
  detail?: ReactNode
  actions: ReactNode
}

/** ErrorPage explains an error and the next step, with a link back. It is rendered alone or in the frame. */
export function ErrorPage({ code, title, body, detail, actions }: ErrorPageProps) {
  const framed = useContext(FrameContext)
  const content = (
    <div className={styles.column}>
      <PageTitle>{title}</PageTitle>
      {code && (
        <p className={styles.code} aria-hidden>
          {code}
        </p>
      )}
      <span className={styles.thread}>
        <ThreadLine />
      </span>
      <h1 className={styles.title}>{title}</h1>
      <p className={styles.body}>{body}</p>
      {detail}
      <div className={styles.actions}>{actions}</div>
    </div>
  )
  if (framed) return <div className={styles.page}>{content}</div>
  return (
    <main id="main" className={cx(styles.page, styles.standalone)} tabIndex={-1}>
      <Link className={styles.logo} to="/" aria-label={texts.top}>
        <Logo size={32} />
      </Link>
      {content}
    </main>
  )
}
