import { useCallback, useEffect, useRef, useState } from 'react'
import type { Target } from '../lib/pages'
import type { Project } from '../lib/projects'
import { addUnreviewed, siteOf, unreviewedSites } from '../lib/review'
import { onAllDeleted } from '../lib/storedConversations'
import { Conversation } from './conversation'
import { setDraft } from './drafts'
import { type Draft, draftOf, draftOfPdf, type PageRequest, type PdfDraft, reasonOf } from './task'

/** Work is a step between a request and its question: reading the page, or reviewing the text. */
export type Work =
  | { readonly kind: 'idle' }
  | { readonly kind: 'reading'; readonly pdf: boolean }
  | { readonly kind: 'pdf'; readonly draft: PdfDraft }
  | { readonly kind: 'review'; readonly draft: Draft }
  | { readonly kind: 'refused'; readonly reason: string }

/** TabWork is the work for the page of a tab. */
interface TabWork {
  readonly tabId: number
  readonly work: Work
}

/** Worker does the work for the page of a tab. */
export type Worker = ReturnType<typeof useWork>

const idle: Work = { kind: 'idle' }

/**
 * useWork reads the page for a request, shows the review, and begins the conversation, in a project if one is given.
 * The work is shown only next to its tab.
 */
export function useWork(
  target: Target | null,
  project: Project | null,
  begin: (conversation: Conversation) => void,
) {
  const [current, setCurrent] = useState<TabWork | null>(null)
  // A later request replaces the current one.
  const turn = useRef(0)

  const send = useCallback(
    (draft: Draft, always: boolean) => {
      const { material, tabId } = draft
      if (always) void addUnreviewed(siteOf(material.url))
      setCurrent(null)
      const conversation = Conversation.begin(tabId, material, project)
      begin(conversation)
      conversation.start(material)
      if (material.kind === 'question') setDraft(tabId, '')
    },
    [project, begin],
  )
  const run = useCallback(
    async (tabId: number, pdf: boolean, read: () => Promise<Draft | PdfDraft>) => {
      const mine = ++turn.current
      const setWork = (work: Work) => setCurrent({ tabId, work })
      setWork({ kind: 'reading', pdf })
      try {
        const draft = await read()
        const reviewed =
          !('material' in draft) || !(await unreviewedSites()).includes(siteOf(draft.material.url))
        if (turn.current !== mine) return
        if (!('material' in draft)) setWork({ kind: 'pdf', draft })
        else if (reviewed) setWork({ kind: 'review', draft })
        else send(draft, false)
      } catch (cause) {
        if (turn.current === mine) setWork({ kind: 'refused', reason: reasonOf(cause) })
      }
    },
    [send],
  )
  const prepare = useCallback(
    (wanted: PageRequest) => {
      if (target !== null) void run(target.tabId, false, () => draftOf(target, wanted))
    },
    [target, run],
  )
  const cancel = useCallback(() => {
    turn.current++
    setCurrent(null)
  }, [])
  // The next user of this computer must not see the text.
  useEffect(() => onAllDeleted(cancel), [cancel])
  return {
    work: current !== null && current.tabId === target?.tabId ? current.work : idle,
    prepare,
    send,
    readPdf: useCallback(
      (draft: PdfDraft) => void run(draft.target.tabId, true, () => draftOfPdf(draft)),
      [run],
    ),
    cancel,
  }
}
