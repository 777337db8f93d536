import { signed, take } from './http'
import type { About, Guidance } from './types'

/** The instructions for every skill: those of the organization, and the user's information about themselves. */
export async function getGuidance(signal?: AbortSignal): Promise<Guidance> {
  return take(signed.GET('/v1/guidance', { signal: signal ?? null }))
}

/** Sets the user's information about themselves. */
export async function putAbout(about: About): Promise<About> {
  return take(signed.PUT('/v1/guidance/about', { body: about }))
}

/** Sets the organization's instructions, for its administrators. */
export async function putInstructions(instructions: string): Promise<string> {
  const stored = await take(signed.PUT('/v1/guidance/instructions', { body: { instructions } }))
  return stored.instructions
}
