import { signed, take } from './http'
import type { UserSession } from './types'

/** The user's sessions, the last used first. */
export async function listSessions(signal?: AbortSignal): Promise<UserSession[]> {
  return (await take(signed.GET('/v1/session', { signal: signal ?? null }))).items
}

/** Ends one of the user's sessions. */
export async function endSession(sessionId: string): Promise<void> {
  await take(signed.DELETE('/v1/session/{session_id}', { params: { path: { session_id: sessionId } } }))
}

/** Ends all of the user's sessions but this one. */
export async function endOtherSessions(): Promise<void> {
  await take(signed.DELETE('/v1/session'))
}
