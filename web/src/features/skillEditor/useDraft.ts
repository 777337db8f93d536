import { useCallback, useState } from 'react'
import { readStoredText, writeStoredText } from '@/lib/browser/storedTexts'
import type { Draft } from './content'

/** draftKey returns the name under which the draft of a skill is stored, or of a new one for null. */
export const draftKey = (skillId: string | null) => `skill-editor:${skillId ?? 'new'}`

/**
 * useDraft holds a draft of a skill, or of a new one for null. It is stored in the browser from the first change until the
 * user saves or discards it.
 */
export function useDraft(skillId: string | null, saved: Draft) {
  const key = draftKey(skillId)
  const [draft, setDraft] = useState<Draft | null>(() => parse(readStoredText(key)))
  const change = useCallback(
    (next: Draft) => {
      setDraft(next)
      writeStoredText(key, JSON.stringify(next))
    },
    [key],
  )
  const discard = useCallback(() => {
    setDraft(null)
    writeStoredText(key, '')
  }, [key])
  /** Ends a draft that was saved as a version of a skill. Later changes remain, as a draft of that version. */
  const settle = useCallback(
    (sent: Draft, id: string, version: number) => {
      const latest = parse(readStoredText(key))
      discard()
      if (latest === null || JSON.stringify(latest) === JSON.stringify(sent)) return
      const rest = { ...latest, version }
      writeStoredText(draftKey(id), JSON.stringify(rest))
      if (draftKey(id) === key) setDraft(rest)
    },
    [key, discard],
  )
  return { draft: draft ?? saved, changed: draft !== null, change, discard, settle }
}

function parse(text: string): Draft | null {
  try {
    const value = JSON.parse(text) as Draft
    if (
      typeof value?.content?.prompt !== 'string' ||
      !Array.isArray(value.content.form_fields) ||
      !Array.isArray(value.members) ||
      !Array.isArray(value.groups)
    )
      return null
    // A draft of an earlier version of the app has no tools.
    return { ...value, content: { ...value.content, tools: value.content.tools ?? [] } }
  } catch {
    return null
  }
}
