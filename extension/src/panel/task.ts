import { readPageFile } from '../lib/file'
import { cut, lengthOf, maxSelection } from '../lib/limits'
import { fetchPdf, readTab, type Target, Unreadable, unreadableReason } from '../lib/pages'
import { type TextName, t } from '../lib/texts'
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
  const { url, title, text, whole, omitted, unreadFrames } = found
  const draft = drafted(target.tabId, request, url, title, text, 0, unreadFrames)
  if (omitted === 0) return draft
  return {
    ...draft,
    material: { ...draft.material, omitted },
    whole: drafted(target.tabId, request, url, title, whole, 0, unreadFrames),
  }
}

/** draftOfPdf reads a PDF through the server. */
export async function draftOfPdf({ request, target, file }: PdfDraft): Promise<Draft> {
  const { text, truncated_characters } = await readPageFile(file)
  if (text.trim() === '') throw new Unreadable('emptyPage')
  return drafted(target.tabId, request, target.url, target.title, text, truncated_characters, 0)
}

function drafted(
  tabId: number,
  request: PageRequest,
  url: string,
  title: string,
  whole: string,
  more: number,
  unreadFrames: number,
): Draft {
  const { text, characters, left } = cut(whole)
  const material = { ...request, url, title, text, left: left + more, omitted: 0, selection: '' }
  return { tabId, material, characters, whole: null, unreadFrames }
}

function explanation(target: Target, request: PageRequest, selection: string): Draft {
  const characters = lengthOf(selection)
  if (selection.trim() === '') throw new Unreadable('noSelection')
  if (characters > maxSelection) throw new TooLong(characters)
  const material = {
    ...request,
    url: target.url,
    title: target.title,
    text: '',
    left: 0,
    omitted: 0,
    selection,
  }
  return { tabId: target.tabId, material, characters, whole: null, unreadFrames: 0 }
}

/** TooLong refuses a selection over the limit. It is never cut, because the explanation would not cover all of it. */
class TooLong extends Error {
  override name = 'TooLong'
  constructor(readonly characters: number) {
    super('the selection is too long')
  }
}

/** reasonOf describes the error of draftOf. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof TooLong) return t('selectionTooLong', cause.characters, maxSelection)
  if (cause instanceof Unreadable) return t(cause.reason satisfies TextName)
  return cause instanceof Error && cause.name === 'FileRefused' ? cause.message : t('actionFailed')
}
