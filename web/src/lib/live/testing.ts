import type { TabChannel } from '@/lib/browser/locks'
import type { WakeReason, WakeSource } from '../stream/wake'
import type { Socket } from './socket'

/** FakeSocket is a socket whose server the test controls. */
export class FakeSocket implements Socket {
  onopen: Socket['onopen'] = null
  onmessage: Socket['onmessage'] = null
  onclose: Socket['onclose'] = null
  readonly sent: unknown[] = []
  closed = false

  send(data: string): void {
    this.sent.push(JSON.parse(data))
  }

  close(): void {
    this.closed = true
  }

  says(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) })
  }

  /** Opens the socket for the client. */
  opens(): void {
    this.onopen?.()
  }

  /** Closes the socket, as the server or the network (1006) does. */
  ends(code: number): void {
    this.onclose?.({ code })
  }
}

/** Wake-up signals that the test triggers. */
export function fakeWake(): { wake: WakeSource; fire: (reason: WakeReason) => void } {
  const listeners = new Set<(reason: WakeReason) => void>()
  return {
    wake: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    fire: (reason) => {
      for (const listener of [...listeners]) listener(reason)
    },
  }
}

/** fakeChannels returns the channel of one browser. The other tabs receive a tab's message a moment later. */
export function fakeChannels<News>(): () => TabChannel<News> {
  const ends = new Set<TabChannel<News>>()
  return () => {
    const end: TabChannel<News> = {
      onmessage: null,
      postMessage: (news) => {
        for (const other of ends) {
          if (other !== end) queueMicrotask(() => ends.has(other) && other.onmessage?.({ data: news }))
        }
      },
      close: () => ends.delete(end),
    }
    ends.add(end)
    return end
  }
}
