import '../styles/tokens.css'
import '../styles/base.css'
import './componentStyles'
import { createRoot } from 'react-dom/client'
import { session } from '@/entities/session/session'
import { callAs } from '@/lib/api/caller'
import { configQuery, queryClient } from '@/lib/api/queries'
import { followKeyboard } from '@/lib/browser/keyboard'
import { forgetReload } from '@/lib/browser/reload'
import { refuseStrayFiles } from '@/lib/browser/strayFiles'
import { startTagManager } from '@/lib/browser/tagManager'
import { ime } from '@/lib/ui/ime'
import { applyTheme } from '@/lib/ui/theme'
import { App } from './App'
import { makeRouter } from './router'

/** The delay before the first page's loading state is shown. */
const BOOTING_AFTER_MS = 300

callAs(session)
const router = makeRouter()

ime.watch(document)
session.follow(window)
applyTheme(document.documentElement)
refuseStrayFiles(window)
followKeyboard(window)
forgetReload(window)

queryClient.fetchQuery(configQuery).then(
  (config) => startTagManager(config.tag_manager_id, router),
  () => {},
)

// If the first page loads quickly, no loading state is shown.
const waiting = setTimeout(show, BOOTING_AFTER_MS)
const unsubscribe = router.subscribe(showInitialized)
showInitialized(router.state)

function showInitialized({ initialized }: { initialized: boolean }): void {
  if (initialized) show()
}

function show(): void {
  clearTimeout(waiting)
  unsubscribe()
  const root = document.getElementById('root')
  if (root) createRoot(root).render(<App router={router} />)
}
