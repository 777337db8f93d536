import { useEffect } from 'react'
import { readToken } from '@/entities/identity/token'
import { followNotifications } from '@/entities/notice/notifications'
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
import { loadViewer, ViewerPlace } from './ViewerPlace'

/** HomeRoute is the layout of all pages for signed-in users, with the keyboard shortcuts. */
export function HomeRoute() {
  useEffect(followLive, [])
  useEffect(loadChat, [])
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
    askBeforeLeaving(uploads, window, () => readToken() !== null),
    live.start(),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/**
 * loadChat loads the chunks of the chat, the renderer of answers and the viewer when the browser is idle, so that they
 * open without delay. If a chunk cannot be loaded, opening its page tries again.
 */
function loadChat(): () => void {
  const load = async () => {
    await (await import('@/features/chat/routes')).preloadMarkdown()
    await loadViewer()
  }
  return whenIdle(() => void load().catch(() => {}))
}
