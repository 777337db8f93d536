import { readPageFile } from '../lib/file'
import { cut, lengthOf, maxSelection } from '../lib/limits'
import { fetchPdf, readTab, type Target, Unreadable, whyNot } from '../lib/pages'
import { type TextName, t } from '../lib/texts'
import type { Material } from './conversation'

/** A person's request about the page. */
export interface Wish {
  readonly kind: Material['kind']
  readonly question: string
  /** The selection that the browser's menu reports, for pages that cannot be read. */
  readonly selection: string
}

/** The text of a page, ready to be sent. */
export interface Draft {
  readonly material: Material
  readonly characters: number
  /** The draft of the whole page; null if this draft leaves out nothing. */
  readonly whole: Draft | null
  readonly unreadFrames: number
}

/** A PDF that has to be sent to the server before it can be read. */
export interface PdfDraft {
  readonly wish: Wish
  readonly target: Target
  readonly file: Blob
}

/** Reads a page for a wish. Throws Unreadable with the reason. */
export async function draftOf(target: Target, wish: Wish): Promise<Draft | PdfDraft> {
  const found = await readTab(target).catch((cause: unknown) => {
    // The selection from the menu is enough for an explanation.
    if (wish.kind === 'explanation' && wish.selection !== '' && cause instanceof Unreadable) return null
    throw cause
  })
  if (wish.kind === 'explanation') {
    const selected = found !== null && 'selection' in found ? found.selection : ''
    return explanation(target, wish, selected || wish.selection)
  }
  if (found === null) throw new Unreadable('refusedPage')
  if (found.kind === 'pdf') return { wish, target, file: await fetchPdf(found.url) }
  const reason = whyNot(found)
  if (reason !== null || found.kind !== 'page') throw new Unreadable(reason ?? 'emptyPage')
  if (found.text === '') throw new Unreadable('emptyPage')
  const { url, title, text, whole, omitted, unreadFrames } = found
  const draft = drafted(wish, url, title, text, 0, unreadFrames)
  if (omitted === 0) return draft
  return {
    ...draft,
    material: { ...draft.material, omitted },
    whole: drafted(wish, url, title, whole, 0, unreadFrames),
  }
}

/** Reads a PDF by the server. */
export async function draftOfPdf({ wish, target, file }: PdfDraft): Promise<Draft> {
  const { text, truncated_characters } = await readPageFile(file)
  if (text.trim() === '') throw new Unreadable('emptyPage')
  return drafted(wish, target.url, target.title, text, truncated_characters, 0)
}

function drafted(
  wish: Wish,
  url: string,
  title: string,
  whole: string,
  more: number,
  unreadFrames: number,
): Draft {
  const { text, characters, left } = cut(whole)
  const material = { ...wish, url, title, text, left: left + more, omitted: 0, selection: '' }
  return { material, characters, whole: null, unreadFrames }
}

function explanation(target: Target, wish: Wish, selection: string): Draft {
  const characters = lengthOf(selection)
  if (selection.trim() === '') throw new Unreadable('noSelection')
  if (characters > maxSelection) throw new TooLong(characters)
  const material = { ...wish, url: target.url, title: target.title, text: '', left: 0, omitted: 0, selection }
  return { material, characters, whole: null, unreadFrames: 0 }
}

/** A selection is never cut, as the explanation would not cover all of it. */
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
