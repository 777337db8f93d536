import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { findThread, threadDeletions } from '@/entities/thread/threads'
import { browserLocks, type Locks, PageLocks } from '@/lib/browser/locks'
import { canNotify, followNoticeClicks, notify, readNotices, setNotices } from '@/lib/browser/systemNotices'
import { live } from '@/lib/live'
import { toast } from '@/lib/ui/toast'
import { hasEnded } from './Finished'
import { texts } from './texts'

const words = texts.notices

/** A tab that is looked at takes the lock first, and keeps the others from telling for so long. */
const WAIT_MS = 300
const HOLD_MS = 10_000

const pageLocks = new PageLocks()

/**
 * Has the system tell of answers that end while no tab is looked at, where that was chosen. Where nothing was chosen yet, it is
 * offered when somebody comes back to an answer that has ended meanwhile. Draws nothing itself.
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
        if (!hasEnded(message) || threadDeletions.has(message.thread_id)) return
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

/** Tells, unless another tab of this browser is looked at or has told of the same. */
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

/** Offers notices once, as long as nothing was chosen and the browser was not told never to show them. */
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
