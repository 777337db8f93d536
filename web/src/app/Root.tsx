import { Outlet, useNavigation } from 'react-router'
import { ThreadLine } from '@/components/ThreadLine'
import { Confirmations } from './Confirmations'
import styles from './Root.module.css'
import { RouteAnnouncer } from './RouteAnnouncer'

/** Root is the layout of every page, with the progress line during navigation and the route announcer. */
export function Root() {
  const navigation = useNavigation()
  return (
    <>
      {navigation.state === 'loading' && (
        <div className={styles.progress} key={navigation.location.key}>
          <ThreadLine running />
        </div>
      )}
      <Outlet />
      <RouteAnnouncer />
      <Confirmations />
    </>
  )
}

/** Booting is shown while the first page is loading. */
export function Booting() {
  return (
    <div className={styles.booting} role="status">
      <span className="visually-hidden">読み込み中...</span>
      <div className={styles.bootingLine}>
        <ThreadLine running />
      </div>
    </div>
  )
}
