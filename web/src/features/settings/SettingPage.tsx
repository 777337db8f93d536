import type { ReactNode } from 'react'
import { PageHeading } from '@/components/PageHeading'
import { PageTitle } from '@/components/PageTitle'
import styles from './SettingPage.module.css'

/** SettingPage is a page of the settings: its heading, and its content below. */
export function SettingPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.page}>
      <PageTitle>{title}</PageTitle>
      <PageHeading title={title} />
      {children}
    </div>
  )
}
