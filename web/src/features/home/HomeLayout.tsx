import { useAtomValue } from 'jotai'
import { type ReactNode, useRef } from 'react'
import { Outlet } from 'react-router'
import { FrameContext } from '@/lib/ui/frame'
import { sidebarFoldedAtom } from '@/lib/ui/sidebar'
import { useToastPlace } from '@/lib/ui/toastPlace'
import { Header } from './Header'
import styles from './HomeLayout.module.css'
import { texts } from './texts'
import { useScrollRestoration } from './useScrollRestoration'

/** HomeLayout is the layout of all pages for signed-in users: the header, the sidebar, the page, and a side panel. */
export function HomeLayout({ sidebar, beside }: { sidebar: ReactNode; beside: ReactNode }) {
  const folded = useAtomValue(sidebarFoldedAtom)
  const main = useRef<HTMLElement>(null)
  useScrollRestoration(main)
  useToastPlace('page', main)
  return (
    <div className={styles.home}>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        {texts.skip}
      </button>
      <Header />
      <div className={styles.page} data-folded={folded || undefined}>
        {sidebar}
        <main id="main" className={styles.main} tabIndex={-1} ref={main}>
          <FrameContext value>
            <Outlet />
          </FrameContext>
        </main>
        {beside}
      </div>
    </div>
  )
}
