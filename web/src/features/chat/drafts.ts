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
  const queued = threadId === undefined ? [] : emptyQueue(threadId)
  move(draftKey(skillId, threadId), draftKey(skillId, undefined), queued)
}

/**
 * carryDraft moves what the user has entered while a thread was being created from the composer of the skill to that
 * of the thread. `before` is the text of the skill's composer when the creation began.
 */
export function carryDraft(skillId: string, threadId: string, before: string): void {
  const from = draftKey(skillId, undefined)
  if (store.get(draftAtom(from)) !== before) move(from, draftKey(skillId, threadId))
}

function move(from: string, to: string, queued: readonly string[] = []): void {
  const text = [...queued, store.get(draftAtom(from))].filter(Boolean).join('\n\n')
  if (giveBack(to, text)) {
    const { added, pictures } = readAttachments(from)
    giveBackAttachments(to, { sources: added, pictures })
  }
  clearAdded(from)
  store.set(draftAtom(from), '')
}

const prefix = 'draft:'

// The last writer wins, except while the user types in a composer of this tab.
followKept((name, value) => {
  if (!name.startsWith(prefix)) return
  const key = name.slice(prefix.length)
  const typing = document.hasFocus() && document.activeElement?.getAttribute('data-composer') === key
  if (!typing) drafts.get(key)?.hear(value)
})
