import type { WakeReason, WakeSource } from '../stream/wake'
import type { Channel, TabNews } from './live'
import type { Socket } from './socket'

/** A socket whose server is the test. */
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

  /** Opens, as far as the client sees it. */
  opens(): void {
    this.onopen?.()
  }

  /** The server closes, or the network does (1006). */
  ends(code: number): void {
    this.onclose?.({ code })
  }
}

/** Signs of waking that the test gives. */
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

/** The channel of one browser: what one tab posts, the others hear a moment later. */
export function fakeChannels<News = TabNews>() {
  type Ear = { onmessage: ((event: { readonly data: News }) => void) | null }
  const ears = new Set<Ear>()
  return (): Channel & { onmessage: ((event: { readonly data: News }) => void) | null } => {
    const ear = {
      onmessage: null as ((event: { readonly data: News }) => void) | null,
      postMessage: (news: News) => {
        for (const other of ears) {
          if (other !== ear) queueMicrotask(() => ears.has(other) && other.onmessage?.({ data: news }))
        }
      },
      close: () => {
        ears.delete(ear)
      },
    }
    ears.add(ear)
    return ear as never
  }
}
