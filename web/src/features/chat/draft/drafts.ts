import type { Skill } from '@/lib/api'
import { storedAtoms } from '@/lib/browser/storedAtoms'
import { store } from '@/lib/ui/store'
import { clearAdded, readAttachments, restoreAttachments, setWaiting } from './attachments'
import { clearQueue, type Queued } from './queue'

/** draftKey returns the storage key of the composer's text: by thread, or by skill before the thread exists. */
export function draftKey(skillId: string, threadId: string | undefined): string {
  return threadId === undefined ? `skill:${skillId}` : `thread:${threadId}`
}

/** editKey returns the storage key of an edited question. */
export function editKey(messageId: string): string {
  return `edit:${messageId}`
}

/** draftAtom returns the unsent text of a composer. It is stored in the browser and shared by all tabs. */
export const draftAtom = storedAtoms<string>('draft:', {
  parse: (text) => text,
  format: (text) => text,
  // The last writer wins, except while the user types in a composer of this tab.
  follows: (key) => !document.hasFocus() || document.activeElement?.getAttribute('data-composer') !== key,
})

/** restoreDraft restores a text that could not be sent, before the text of the composer. */
export function restoreDraft(key: string, text: string): void {
  const draft = draftAtom(key)
  store.set(draft, [text, store.get(draft)].filter(Boolean).join('\n\n'))
}

/** removeRestoredDraft removes a restored text, unless it has been changed. It reports whether it did. */
export function removeRestoredDraft(key: string, text: string): boolean {
  const draft = draftAtom(key)
  const current = store.get(draft)
  if (current !== text && !current.startsWith(`${text}\n\n`)) return false
  store.set(draft, current.slice(text.length + 2))
  return true
}

/** moveDraftToSkill moves the draft and the queue of a deleted thread to the skill's next thread. */
export function moveDraftToSkill(skillId: string, threadId: string | undefined): void {
  const queued = threadId === undefined ? [] : clearQueue(threadId)
  move(draftKey(skillId, threadId), draftKey(skillId, undefined), queued)
}

/**
 * moveDraftToOtherSkill moves the text of a composer, and its attachments if the skill accepts them, to the composer of
 * another skill's next thread, after the text there. A skill with a form has no composer, so that nothing moves.
 */
export function moveDraftToOtherSkill(from: string, skill: Skill): void {
  if (skill.form_type === 'form' || skill.unavailable_reason) return
  const to = draftAtom(draftKey(skill.id, undefined))
  store.set(to, [store.get(to), store.get(draftAtom(from))].filter(Boolean).join('\n\n'))
  store.set(draftAtom(from), '')
  const { added, pictures } = readAttachments(from)
  if (!skill.accepts_data_sources && added.length > 0) return
  restoreAttachments(draftKey(skill.id, undefined), { sources: added, pictures })
  clearAdded(from)
}

/**
 * moveDraftToThread moves the question entered during the creation of a thread to its composer. `before` is the text of
 * the skill's composer when the creation began.
 */
export function moveDraftToThread(skillId: string, threadId: string, before: string): void {
  const from = draftKey(skillId, undefined)
  const { waiting } = readAttachments(from)
  if (!waiting && store.get(draftAtom(from)) === before) return
  move(from, draftKey(skillId, threadId))
  setWaiting(draftKey(skillId, threadId), waiting)
}

function move(from: string, to: string, queued: readonly Queued[] = []): void {
  const contents = queued.map(({ content }) => content)
  restoreDraft(to, [...contents, store.get(draftAtom(from))].filter(Boolean).join('\n\n'))
  const { added, pictures } = readAttachments(from)
  for (const attached of [...queued, { sources: added, pictures }]) restoreAttachments(to, attached)
  clearAdded(from)
  store.set(draftAtom(from), '')
}
