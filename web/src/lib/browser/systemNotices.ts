import { storedChoice } from '@/lib/ui/storedChoice'

/** Whether system notifications are shown while no tab is visible. Stored for this device. */
export type SystemNotices = 'on' | 'off'

const chosen = storedChoice<SystemNotices>('tsumugiNotices', ['on', 'off'])

/** canNotify reports whether this browser can show notifications, which require a secure context. */
export function canNotify(): boolean {
  return 'Notification' in globalThis && globalThis.isSecureContext !== false
}

/** readNotices returns the choice on this device, if the browser still permits it; null without a choice. */
export function readNotices(): SystemNotices | null {
  const choice = chosen.get()
  return choice === 'on' && (!canNotify() || Notification.permission !== 'granted') ? 'off' : choice
}

/** The choice, as a hook. */
export function useNotices(): SystemNotices {
  chosen.use()
  return readNotices() ?? 'off'
}

/**
 * Sets the choice for this device. Call it from a click, because the browser asks for permission. Returns whether it
 * was granted.
 */
export async function setNotices(choice: SystemNotices): Promise<boolean> {
  const allowed = choice === 'off' || (await Notification.requestPermission()) === 'granted'
  const next = allowed ? choice : 'off'
  chosen.set(next)
  return allowed
}

/** The content of a notification, and the target of a click. */
interface SystemNotice {
  readonly title: string
  readonly body: string
  /** A path of the app. */
  readonly path: string
  /** A notification replaces one with the same tag. */
  readonly tag: string
}

/** Shows a system notification. Some mobile browsers require a service worker for it. */
export async function notify(notice: SystemNotice, open: (path: string) => void): Promise<void> {
  const { title, body, path, tag } = notice
  const options = { body, tag, icon: '/icons/icon-192.png', lang: 'ja', data: { path } }
  try {
    const shown = new Notification(title, options)
    shown.onclick = () => {
      window.focus()
      shown.close()
      open(path)
    }
  } catch {
    const worker = await navigator.serviceWorker.register('/notices.js')
    await navigator.serviceWorker.ready
    await worker.showNotification(title, options)
  }
}

/** Opens the target of a click on a service worker's notification, until the returned function is called. */
export function followNoticeClicks(open: (path: string) => void): () => void {
  const worker = navigator.serviceWorker
  if (worker === undefined) return () => {}
  const onMessage = ({ data }: MessageEvent) => {
    const path: unknown = data?.open
    if (typeof path === 'string' && /^\/chat\/[\w-]+$/.test(path)) open(path)
  }
  worker.addEventListener('message', onMessage)
  return () => worker.removeEventListener('message', onMessage)
}
