import type { ReactNode } from 'react'
import { Link } from 'react-router'
import styles from './Column.module.css'
import { Logo } from './Logo'
import { PageHeading } from './PageHeading'
import { PageTitle } from './PageTitle'

/** A page with one centered column, such as the sign-in. `beside` is shown at its right in wide windows. */
export function Column({
  title,
  home = '/',
  homeLabel = 'トップページへ',
  beside,
  children,
}: {
  title: string
  home?: string
  homeLabel?: string
  beside?: ReactNode
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
        <PageHeading title={title} />
        {children}
      </main>
      {beside && <aside className={styles.beside}>{beside}</aside>}
    </div>
  )
}
