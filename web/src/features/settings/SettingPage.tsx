import type { ReactNode } from 'react'
import { PageTitle } from '@/components/PageTitle'
import { ThreadLine } from '@/components/ThreadLine'
import styles from './SettingPage.module.css'

/** SettingPage is a page of the settings: its heading, and its content below. */
export function SettingPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.page}>
      <PageTitle>{title}</PageTitle>
      <h1 className={styles.title}>{title}</h1>
      <span className={styles.thread}>
        <ThreadLine />
      </span>
      {children}
    </div>
  )
}
