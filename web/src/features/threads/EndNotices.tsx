import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { findThread, isOthers, threadDeletions } from '@/entities/thread/threads'
import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { canNotify, followNoticeClicks, notify, readNotices, setNotices } from '@/lib/browser/systemNotices'
import { live } from '@/lib/live'
import { toast } from '@/lib/ui/toast'
import { hasEnded } from './Finished'
import { texts } from './texts'

const words = texts.notices

/** A visible tab takes the lock first, and keeps the others from notifying for this time. */
const WAIT_MS = 300
const HOLD_MS = 10_000

const pageLocks = new PageLocks()

/**
 * Shows system notifications for answers that end while no tab is visible, if the user has chosen so. If nothing was
 * chosen yet, it is offered when the user returns to an answer that has ended meanwhile. Renders nothing.
 */
export function EndNotices() {
  const navigate = useNavigate()
  useEffect(() => {
    const open = (path: string) => void navigate(path)
    let missed = false
    const onShow = () => {
      if (document.visibilityState !== 'visible' || !missed) return
      missed = false
      offer()
    }
    document.addEventListener('visibilitychange', onShow)
    const stops = [
      () => document.removeEventListener('visibilitychange', onShow),
      followNoticeClicks(open),
      live.on('message', ({ message }) => {
        if (
          message === undefined ||
          isOthers(message.thread_id) ||
          !hasEnded(message) ||
          threadDeletions.has(message.thread_id)
        )
          return
        const hidden = document.visibilityState === 'hidden'
        missed ||= hidden
        const title = findThread(message.thread_id)?.title || texts.untitled
        const body = message.status === 'failed' ? words.failed : words.finished
        const notice = { title, body, path: `/chat/${message.thread_id}`, tag: message.id }
        void once(message.id, hidden, () => notify(notice, open))
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [navigate])

  return null
}

/** Notifies, unless another tab of this browser is visible or has notified of the same answer. */
export async function once(
  id: string,
  hidden: boolean,
  tell: () => Promise<void>,
  locks: Locks = browserLocks() ?? pageLocks,
): Promise<void> {
  if (hidden) {
    if (readNotices() !== 'on') return
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
  }
  await locks.request(`tsumugi-ended-${id}`, { ifAvailable: true }, async (lock) => {
    if (lock === null) return
    if (hidden && document.visibilityState === 'hidden') await tell().catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, HOLD_MS))
  })
}

/** Offers notifications once, unless a choice was made or the browser blocks them. */
function offer(): void {
  if (readNotices() !== null || !canNotify() || Notification.permission !== 'default') return
  if (localStorage.getItem(OFFERED) !== null) return
  localStorage.setItem(OFFERED, '1')
  toast(words.offer, {
    duration: 15_000,
    action: { label: words.turnOn, run: () => void turnOn() },
  })
}

const OFFERED = 'tsumugiNoticesOffered'

async function turnOn(): Promise<void> {
  const allowed = await setNotices('on')
  toast(allowed ? words.on : words.denied, { tone: allowed ? 'success' : 'danger' })
}
