import { atom, type WritableAtom } from 'jotai'
import { store } from '@/lib/store'

type Draft = WritableAtom<string, [string], void>

const drafts = new Map<string, Draft>()

/** Where the text of a thread's composer is kept; before there is a thread, of its skill's. */
export function draftKey(skillId: string, threadId: string | undefined): string {
  return threadId === undefined ? `skill:${skillId}` : `thread:${threadId}`
}

/** What is typed and not sent yet, kept for this tab over reloads and other pages. */
export function draftAtom(key: string): Draft {
  const known = drafts.get(key)
  if (known !== undefined) return known
  const text = atom(read(key))
  const draft: Draft = atom(
    (get) => get(text),
    (_, set, value: string) => {
      set(text, value)
      write(key, value)
    },
  )
  drafts.set(key, draft)
  return draft
}

/** Gives a text back that could not be sent, unless something else has been typed meanwhile. */
export function giveBack(key: string, text: string): void {
  const draft = draftAtom(key)
  if (store.get(draft) === '') store.set(draft, text)
}

/** Takes a text away that was given back, unless it has been changed. */
export function takeBack(key: string, text: string): void {
  const draft = draftAtom(key)
  if (store.get(draft) === text) store.set(draft, '')
}

/** Takes what is typed in a thread that is gone to the place where the skill's next thread begins. */
export function moveDraft(skillId: string, threadId: string | undefined): void {
  const draft = draftAtom(draftKey(skillId, threadId))
  giveBack(draftKey(skillId, undefined), store.get(draft))
  store.set(draft, '')
}

const prefix = 'tsumugiDraft:'

function read(key: string): string {
  try {
    return sessionStorage.getItem(prefix + key) ?? ''
  } catch {
    return ''
  }
}

// A full or forbidden storage costs the draft on a reload, no more.
function write(key: string, value: string): void {
  try {
    if (value === '') sessionStorage.removeItem(prefix + key)
    else sessionStorage.setItem(prefix + key, value)
  } catch {}
}
