import { useEffect } from 'react'
import { followNotifications } from '@/entities/notice/notifications'
import { followThreads } from '@/entities/thread/threads'
import { HomeComposer } from '@/features/chat/HomeComposer'
import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'
import { SkillsPage } from '@/features/skills/SkillsPage'
import { EndNotices } from '@/features/threads/EndNotices'
import { Finished } from '@/features/threads/Finished'
import { whenIdle } from '@/lib/browser/idle'
import { live } from '@/lib/live'

/** The skills, and over them the composer of the general chat. */
export function SkillsRoute() {
  return <SkillsPage composer={<HomeComposer />} />
}

/** All of /home: its frame, and the keys that work everywhere in it. */
export function HomeRoute() {
  useEffect(followLive, [])
  useEffect(loadChat, [])
  return (
    <>
      <HomeLayout />
      <Shortcuts />
      <Finished />
      <EndNotices />
    </>
  )
}

/** Shows what changes on the server, wherever it was changed, as long as /home is open. */
function followLive(): () => void {
  const stops = [followThreads(live), followNotifications(live), live.start()]
  return () => {
    for (const stop of stops) stop()
  }
}

/**
 * Loads the chat and what draws its answers once there is nothing else to do: the first question opens without waiting. If
 * that fails, opening a skill or asking tries again.
 */
function loadChat(): () => void {
  const load = async () => (await import('@/features/chat/routes')).preloadMarkdown()
  return whenIdle(() => void load().catch(() => {}))
}
