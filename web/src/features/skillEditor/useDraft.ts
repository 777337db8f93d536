import { useCallback, useState } from 'react'
import { readStoredText, writeStoredText } from '@/lib/browser/storedTexts'
import type { Draft } from './content'

/** useDraft holds a draft. It is stored in the browser from the first change until the user saves or discards it. */
export function useDraft(key: string, saved: Draft) {
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
  return { draft: draft ?? saved, changed: draft !== null, change, discard }
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
