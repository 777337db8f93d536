import { Refused, readPageFile } from '../lib/file'
import { cut, lengthOf, maxSelection } from '../lib/limits'
import { fetchPdf, readTab, type Target, Unreadable, unreadableReason } from '../lib/pages'
import { t } from '../lib/texts'
import type { Material } from './conversation'

/** PageRequest is a user's request about the page. */
export interface PageRequest {
  readonly kind: Material['kind']
  readonly question: string
  /** The selection that the browser passes to the menu, for unreadable pages. */
  readonly selection: string
}

/** Draft is the text of a page, ready to send. */
export interface Draft {
  readonly tabId: number
  readonly material: Material
  readonly characters: number
  /** The draft of the whole page; null if this draft omits nothing. */
  readonly whole: Draft | null
  readonly unreadFrames: number
}

type Page = Pick<Target, 'tabId' | 'url' | 'title'>

/** PdfDraft is a PDF that must be sent to the server to be read. */
export interface PdfDraft {
  readonly request: PageRequest
  readonly target: Target
  readonly file: Blob
}

/** draftOf reads a page for a request. It throws Unreadable with the reason. */
export async function draftOf(target: Target, request: PageRequest): Promise<Draft | PdfDraft> {
  const found = await readTab(target).catch((cause: unknown) => {
    // The selection from the menu is enough for an explanation.
    if (request.kind === 'explanation' && request.selection !== '' && cause instanceof Unreadable) return null
    throw cause
  })
  if (request.kind === 'explanation') {
    const selected = found !== null && 'selection' in found ? found.selection : ''
    return explanation(target, request, selected || request.selection)
  }
  if (found === null) throw new Unreadable('refusedPage')
  if (found.kind === 'pdf') return { request: request, target, file: await fetchPdf(found.url) }
  const reason = unreadableReason(found)
  if (reason !== null || found.kind !== 'page') throw new Unreadable(reason ?? 'emptyPage')
  if (found.text === '') throw new Unreadable('emptyPage')
  const { text, whole, omitted, unreadFrames } = found
  const page = { ...found, tabId: target.tabId }
  const draft = { ...drafted(page, request, text), unreadFrames }
  if (omitted === 0) return draft
  return {
    ...draft,
    material: { ...draft.material, omitted },
    whole: { ...drafted(page, request, whole), unreadFrames },
  }
}

/** draftOfPdf reads a PDF through the server. */
export async function draftOfPdf({ request, target, file }: PdfDraft): Promise<Draft> {
  const { text, truncated_characters } = await readPageFile(file)
  if (text.trim() === '') throw new Unreadable('emptyPage')
  return drafted(target, request, text, truncated_characters)
}

/** drafted returns the draft of a text, which `more` characters follow that are not sent. */
function drafted({ tabId, url, title }: Page, request: PageRequest, whole: string, more = 0): Draft {
  const { text, characters, left } = cut(whole)
  const material = { ...request, url, title, text, left: left + more, omitted: 0, selection: '' }
  return { tabId, material, characters, whole: null, unreadFrames: 0 }
}

function explanation(target: Target, request: PageRequest, selection: string): Draft {
  const characters = lengthOf(selection)
  if (selection.trim() === '') throw new Unreadable('noSelection')
  // It is never cut, because the explanation would not cover all of it.
  if (characters > maxSelection) throw new Refused(t('selectionTooLong', characters, maxSelection))
  const draft = drafted(target, request, '')
  return { ...draft, material: { ...draft.material, selection }, characters }
}

/** reasonOf describes the error of draftOf. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof Unreadable) return t(cause.reason)
  return cause instanceof Refused ? cause.message : t('actionFailed')
}
