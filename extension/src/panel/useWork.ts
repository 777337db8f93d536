import { useCallback, useRef, useState } from 'react'
import type { Target } from '../lib/pages'
import type { Project } from '../lib/projects'
import { addUnreviewed, siteOf, unreviewedSites } from '../lib/review'
import { Conversation } from './conversation'
import { type Draft, draftOf, draftOfPdf, type PageRequest, type PdfDraft, reasonOf } from './task'

/** Work is a step between a request and its question: reading the page, or reviewing the text. */
export type Work =
  | { readonly kind: 'idle' }
  | { readonly kind: 'reading'; readonly pdf: boolean }
  | { readonly kind: 'pdf'; readonly draft: PdfDraft }
  | { readonly kind: 'review'; readonly draft: Draft }
  | { readonly kind: 'refused'; readonly reason: string }

interface Worker {
  readonly work: Work
  readonly prepare: (request: PageRequest) => void
  readonly send: (draft: Draft, always: boolean) => void
  readonly readPdf: (draft: PdfDraft) => void
  readonly cancel: () => void
}

const idle: Work = { kind: 'idle' }

/** useWork reads the page for a request, shows the review, and begins the conversation, in a project if one is given. */
export function useWork(
  target: Target | null,
  project: Project | null,
  begin: (conversation: Conversation) => void,
): Worker {
  const [work, setWork] = useState<Work>(idle)
  // A later request replaces the current one.
  const turn = useRef(0)
  const tabId = target?.tabId

  const send = useCallback(
    (draft: Draft, always: boolean) => {
      const { material } = draft
      if (tabId === undefined) return
      if (always) void addUnreviewed(siteOf(material.url))
      setWork(idle)
      const conversation = Conversation.begin(
        tabId,
        material.url,
        material.title,
        material.kind === 'explanation' ? 'selection' : 'page',
        project,
      )
      begin(conversation)
      conversation.start(material)
    },
    [tabId, project, begin],
  )
  const run = useCallback(
    async (pdf: boolean, read: () => Promise<Draft | PdfDraft>) => {
      const mine = ++turn.current
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
      if (target !== null) void run(false, () => draftOf(target, wanted))
    },
    [target, run],
  )
  return {
    work,
    prepare,
    send,
    readPdf: useCallback((draft: PdfDraft) => void run(true, () => draftOfPdf(draft)), [run]),
    cancel: useCallback(() => {
      turn.current++
      setWork(idle)
    }, []),
  }
}
