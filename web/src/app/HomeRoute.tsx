import { useEffect } from 'react'
import { readToken } from '@/entities/identity/token'
import { followNotifications } from '@/entities/notice/notifications'
import { followSources } from '@/entities/source/dataSources'
import { askBeforeLeaving, uploads } from '@/entities/source/uploads'
import { followThreads } from '@/entities/thread/threads'
import { HomeComposer } from '@/features/chat/HomeComposer'
import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'
import { SkillsPage } from '@/features/skills/SkillsPage'
import { EndNotices } from '@/features/threads/EndNotices'
import { Finished } from '@/features/threads/Finished'
import { whenIdle } from '@/lib/browser/idle'
import { live } from '@/lib/live'
import { loadViewer, ViewerPlace } from './ViewerPlace'

/** The skills, with the composer of the general chat above them. */
export function SkillsRoute() {
  return <SkillsPage composer={<HomeComposer />} />
}

/** The layout of /home, with its keyboard shortcuts. */
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

/** Applies changes on the server, whoever made them, while /home is open. */
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
 * Loads the chat, what draws its answers, and the viewer once there is nothing else to do: the first question and the
 * first citation open without waiting. If that fails, opening them tries again.
 */
function loadChat(): () => void {
  const load = async () => {
    await (await import('@/features/chat/routes')).preloadMarkdown()
    await loadViewer()
  }
  return whenIdle(() => void load().catch(() => {}))
}
