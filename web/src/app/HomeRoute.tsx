import { useEffect } from 'react'
import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'

/** All of /home: its frame, and the keys that work everywhere in it. */
export function HomeRoute() {
  useEffect(loadChat, [])
  return (
    <>
      <HomeLayout />
      <Shortcuts />
    </>
  )
}

/**
 * Loads the chat once there is nothing else to do: the first question opens without waiting, and this tab hears from then on
 * what other tabs ask. If that fails, opening a skill tries again.
 */
function loadChat(): void {
  const load = () => void import('@/features/chat/routes').catch(() => {})
  if ('requestIdleCallback' in window) requestIdleCallback(load)
  else setTimeout(load, 1000)
}
