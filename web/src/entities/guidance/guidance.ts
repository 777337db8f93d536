import { queryOptions } from '@tanstack/react-query'
import { type About, call, type Guidance } from '@/lib/api'
import { changeData } from '@/lib/api/queries'

/** The maximum lengths, in characters. */
export const limits = { line: 100, text: 500, instructions: 4000 } as const

/** The instructions for every skill: those of the organization, and the user's information about themselves. */
export const guidanceQuery = queryOptions({
  queryKey: ['guidance'],
  queryFn: ({ signal }) => call('getGuidance', { signal }),
})

/** saveAbout stores the user's information about themselves. */
export async function saveAbout(about: About): Promise<About> {
  const stored = await call('putAbout', { body: about })
  changeData<Guidance>(guidanceQuery.queryKey, (data) => ({ ...data, about: stored }))
  return stored
}

/** Stores whether dictation may use services of browsers, for administrators. */
export async function saveDictation(service: boolean): Promise<void> {
  const dictation = await call('putDictation', { body: { service } })
  changeData<Guidance>(guidanceQuery.queryKey, (data) => ({ ...data, dictation }))
}

/** Stores the organization's instructions, for its administrators. */
export async function saveInstructions(text: string): Promise<string> {
  const { instructions } = await call('putInstructions', { body: { instructions: text } })
  changeData<Guidance>(guidanceQuery.queryKey, (data) => ({ ...data, instructions }))
  return instructions
}
