import { useEffect } from 'react'
import { readToken } from '@/entities/identity/token'
import { followNotifications } from '@/entities/notice/notifications'
import { followSources } from '@/entities/source/dataSources'
import { askBeforeLeaving, uploads } from '@/entities/source/uploads'
import { followThreads } from '@/entities/thread/threads'
import { HomeComposer } from '@/features/chat/composer/HomeComposer'
import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'
import { SkillsPage } from '@/features/skills/SkillsPage'
import { EndNotices } from '@/features/threads/EndNotices'
import { Finished } from '@/features/threads/Finished'
import { whenIdle } from '@/lib/browser/idle'
import { live } from '@/lib/live'
import { loadViewer, ViewerPlace } from './ViewerPlace'

/** SkillsRoute shows the composer of the general chat, and the skills below. */
export function SkillsRoute() {
  return <SkillsPage composer={<HomeComposer />} />
}

/** HomeRoute is the layout of /home with its keyboard shortcuts. */
export function HomeRoute() {
  useEffect(followLive, [])
  useEffect(loadChat, [])
  return (
    <>
      <HomeLayout beside={<ViewerPlace />} />
      <Shortcuts />
      <Finished />
      <EndNotices />
    </>
  )
}

/** followLive applies live events of the server while /home is open. */
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
