import { atom, type WritableAtom } from 'jotai'
import { followKept, readKept, writeKept } from '@/lib/browser/kept'
import { store } from '@/lib/ui/store'
import { clearAdded, giveBackAttachments, readAttachments } from './attachments'
import { emptyQueue } from './queue'

type Draft = WritableAtom<string, [string], void>

const drafts = new Map<string, { readonly draft: Draft; readonly hear: (value: string) => void }>()

/** draftKey returns the storage key of the composer's text: by thread, or by skill before the thread exists. */
export function draftKey(skillId: string, threadId: string | undefined): string {
  return threadId === undefined ? `skill:${skillId}` : `thread:${threadId}`
}

/** draftAtom returns the unsent text of a composer. It is stored in the browser and shared by all tabs. */
export function draftAtom(key: string): Draft {
  const known = drafts.get(key)
  if (known !== undefined) return known.draft
  const text = atom(readKept(prefix + key))
  const draft: Draft = atom(
    (get) => get(text),
    (_, set, value: string) => {
      set(text, value)
      writeKept(prefix + key, value)
    },
  )
  drafts.set(key, { draft, hear: (value) => store.set(text, value) })
  return draft
}

/** giveBack restores a text that could not be sent, unless the draft has other text. It reports whether it did. */
export function giveBack(key: string, text: string): boolean {
  return replace(key, '', text)
}

/** takeBack removes a restored text, unless it has been changed. It reports whether it did. */
export function takeBack(key: string, text: string): boolean {
  return replace(key, text, '')
}

function replace(key: string, expected: string, text: string): boolean {
  const draft = draftAtom(key)
  if (store.get(draft) !== expected) return false
  store.set(draft, text)
  return true
}

/** moveDraft moves the draft and the queue of a deleted thread to the skill's next thread. */
export function moveDraft(skillId: string, threadId: string | undefined): void {
  const draft = draftAtom(draftKey(skillId, threadId))
  const queued = threadId === undefined ? [] : emptyQueue(threadId)
  const text = [...queued, store.get(draft)].filter(Boolean).join('\n\n')
  const from = draftKey(skillId, threadId)
  if (giveBack(draftKey(skillId, undefined), text)) {
    const { added, pictures } = readAttachments(from)
    giveBackAttachments(draftKey(skillId, undefined), { sources: added, pictures })
  }
  clearAdded(from)
  store.set(draft, '')
}

const prefix = 'draft:'

// The last writer wins, except while the user types in a composer of this tab.
followKept((name, value) => {
  if (!name.startsWith(prefix)) return
  const key = name.slice(prefix.length)
  const typing = document.hasFocus() && document.activeElement?.getAttribute('data-composer') === key
  if (!typing) drafts.get(key)?.hear(value)
})
