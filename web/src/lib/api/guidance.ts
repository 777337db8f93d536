import { assertRequired } from './errors'
import { signed, take } from './http'
import type { About, Guidance } from './types'

/** What every skill is told for the user. */
export async function getGuidance(signal?: AbortSignal): Promise<Guidance> {
  return take(signed.GET('/v1/guidance', { signal: signal ?? null }))
}

/** Sets what the user says about themselves. */
export async function putAbout(about: About): Promise<About> {
  assertRequired('putAbout', 'about', about)
  return take(signed.PUT('/v1/guidance/about', { body: about }))
}

/** Sets the organization's instructions, for its administrators. */
export async function putInstructions(instructions: string): Promise<string> {
  const stored = await take(signed.PUT('/v1/guidance/instructions', { body: { instructions } }))
  return stored.instructions
}
