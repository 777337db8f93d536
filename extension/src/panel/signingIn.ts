import { atom, getDefaultStore } from 'jotai'
import { readServer } from '../lib/server'
import { onSession, readGrant } from '../lib/session'
import { awaitDevice, beginDevice, type Device, SignInFailure, signIn } from '../lib/signIn'
import type { TextName } from '../lib/texts'

/** SigningIn is the progress of signing in on this page. */
interface SigningIn {
  /** The server. */
  readonly origin: string
  readonly busy: boolean
  /** The code that the user must enter. */
  readonly device: Device | null
  readonly failure: TextName | null
}

export const idle: SigningIn = { origin: '', busy: false, device: null, failure: null }

/**
 * The state outlives its screen, because the user confirms a code in another tab, for which the panel shows another
 * screen.
 */
export const signingInAtom = atom(idle)

const store = getDefaultStore()
let current = new AbortController()

const reasons: Record<SignInFailure['reason'], TextName> = {
  canceled: 'signInCanceled',
  denied: 'signInDenied',
  unreachable: 'serverUnreachable',
  expired: 'signInExpired',
  unsupported: 'signInUnsupported',
}

/** signInByWindow signs in through a browser window. */
export function signInByWindow(origin: string): Promise<void> {
  return run(origin, () => signIn(origin))
}

/** signInByCode signs in by a code, and opens the page that confirms it. */
export function signInByCode(origin: string): Promise<void> {
  return run(origin, async (show, signal) => {
    const device = await beginDevice(origin)
    show({ busy: true, device })
    await chrome.tabs.create({ url: device.page })
    await awaitDevice(origin, device, signal)
  })
}

export function cancelSignIn(): void {
  current.abort()
  store.set(signingInAtom, idle)
}

type Show = (change: Partial<SigningIn>) => void

async function run(origin: string, way: (show: Show, signal: AbortSignal) => Promise<void>): Promise<void> {
  cancelSignIn()
  current = new AbortController()
  const { signal } = current
  const show: Show = (change) => {
    if (!signal.aborted) store.set(signingInAtom, { ...idle, origin, ...change })
  }
  // The user may sign in on another page of the extension, and a policy may change the server.
  const stop = onSession(async () => {
    const over = (await readGrant()) !== null || (await readServer())?.origin !== origin
    if (over && !signal.aborted) cancelSignIn()
  })
  show({ busy: true })
  try {
    await way(show, signal)
    show({})
  } catch (cause) {
    show({ failure: cause instanceof SignInFailure ? reasons[cause.reason] : 'actionFailed' })
  } finally {
    stop()
  }
}
