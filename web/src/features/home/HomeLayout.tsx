import type { ReactNode } from 'react'
import { Outlet } from 'react-router'
import { FrameContext } from '@/lib/ui/frame'
import { Header } from './Header'
import styles from './HomeLayout.module.css'
import { texts } from './texts'

/** HomeLayout is the layout of all pages under /home, with the header, the page and an optional side panel. */
export function HomeLayout({ beside }: { beside?: ReactNode }) {
  return (
    <div className={styles.home}>
      <button type="button" className={styles.skip} onClick={skip}>
        {texts.skip}
      </button>
      <Header />
      <div className={styles.page}>
        <FrameContext value="home">
          <Outlet />
        </FrameContext>
        {beside}
      </div>
    </div>
  )
}

function skip(): void {
  document.querySelector<HTMLElement>('main')?.focus()
}
