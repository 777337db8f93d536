import type { ReactNode } from 'react'
import { Link } from 'react-router'
import styles from './Column.module.css'
import { Logo } from './Logo'
import { PageTitle } from './PageTitle'
import { ThreadLine } from './ThreadLine'

/** A page with one centered column on paper, such as the sign-in. */
export function Column({
  title,
  home,
  homeLabel,
  children,
}: {
  title: string
  home: string
  homeLabel: string
  children: ReactNode
}) {
  return (
    <div className={styles.page}>
      <PageTitle>{title}</PageTitle>
      <header className={styles.header}>
        <Link className={styles.logo} to={home} aria-label={homeLabel}>
          <Logo size={32} />
        </Link>
      </header>
      <main className={styles.column} tabIndex={-1}>
        <h1 className={styles.title}>{title}</h1>
        <span className={styles.thread}>
          <ThreadLine />
        </span>
        {children}
      </main>
    </div>
  )
}
