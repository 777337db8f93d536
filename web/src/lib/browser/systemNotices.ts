import { atom, useAtomValue } from 'jotai'
import { store } from '@/lib/ui/store'

/** Whether the system tells of what has happened while no tab was looked at. Chosen for this device. */
export type SystemNotices = 'on' | 'off'

const KEY = 'tsumugiNotices'

const chosen = atom<SystemNotices | null>(readChoice())

/** Whether this browser can show notices at all: on a page that is not served securely it cannot. */
export function canNotify(): boolean {
  return 'Notification' in globalThis && globalThis.isSecureContext !== false
}

/** What was chosen here, as far as the browser still allows it; null for nothing. */
export function readNotices(): SystemNotices | null {
  const choice = store.get(chosen)
  return choice === 'on' && (!canNotify() || Notification.permission !== 'granted') ? 'off' : choice
}

/** What was chosen, for a component. */
export function useNotices(): SystemNotices {
  useAtomValue(chosen, { store })
  return readNotices() ?? 'off'
}

/** Chooses for this device. To be called by a click: the browser asks for its permission. Answers whether it was given. */
export async function setNotices(choice: SystemNotices): Promise<boolean> {
  const allowed = choice === 'off' || (await Notification.requestPermission()) === 'granted'
  const next = allowed ? choice : 'off'
  localStorage.setItem(KEY, next)
  store.set(chosen, next)
  return allowed
}

/** What a notice says, and where a click on it leads. */
export interface SystemNotice {
  readonly title: string
  readonly body: string
  /** A path of the app. */
  readonly path: string
  /** Notices with the same one take each other's place. */
  readonly tag: string
}

/** Shows a notice of the system. Some browsers, on phones, show them by a service worker only. */
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

/** Opens what a click on a notice of the service worker leads to, until the returned function is called. */
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

function readChoice(): SystemNotices | null {
  const value = localStorage.getItem(KEY)
  return value === 'on' || value === 'off' ? value : null
}
