import { useEffect } from 'react'
import { useLocation } from 'react-router'
import { readToken } from '@/entities/identity/token'
import { followNotifications } from '@/entities/notice/notifications'
import { followProjects } from '@/entities/project/projects'
import { followSources } from '@/entities/source/dataSources'
import { askBeforeLeaving, uploads } from '@/entities/source/uploads'
import { followThreads } from '@/entities/thread/threads'
import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'
import { EndNotices } from '@/features/threads/EndNotices'
import { Finished } from '@/features/threads/Finished'
import { Sidebar } from '@/features/threads/Sidebar'
import { whenIdle } from '@/lib/browser/idle'
import { live } from '@/lib/live'
import { ViewerPlace } from './ViewerPlace'

export { threadsLoader } from '@/features/threads/loader'

/** HomeRoute is the layout of all pages for signed-in users, with the keyboard shortcuts. */
export function HomeRoute() {
  useEffect(followLive, [])
  // Pages with much code of their own do not load it, so that their first load stays small.
  const nearChat = /^\/home\/(?!project|skill\/new)/.test(useLocation().pathname)
  useEffect(() => (nearChat ? loadChat() : undefined), [nearChat])
  return (
    <>
      <HomeLayout sidebar={<Sidebar />} beside={<ViewerPlace />} />
      <Shortcuts />
      <Finished />
      <EndNotices />
    </>
  )
}

/** followLive applies live events of the server while the layout is shown. */
function followLive(): () => void {
  const stops = [
    followThreads(live),
    followNotifications(live),
    followSources(live),
    followProjects(live),
    askBeforeLeaving(uploads, window, () => readToken() !== null),
    live.start(),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/**
 * loadChat loads the chunks of the chat and the renderer of answers when the browser is idle, so that a chat opens
 * without delay. If a chunk cannot be loaded, opening its page tries again.
 */
function loadChat(): () => void {
  const load = async () => (await import('@/features/chat/routes')).preloadMarkdown()
  return whenIdle(() => void load().catch(() => {}))
}
