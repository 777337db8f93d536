import { hasPictures } from '@/entities/source/files'
import type { Citation, Message } from '@/lib/api'
import { markWeak } from '@/lib/markdown'
import { type AnswerCitation, type AnswerSource, type AnswerView, decodeCitations } from '@/lib/stream'
import { formatDay } from '@/lib/ui/dates'
import { texts } from '../texts'

/**
 * Source is a source of an answer: a passage of a document, or a web page. If its file was deleted, `filename` is a notice
 * and other fields are empty.
 */
export type Source = AnswerCitation

/** canOpen reports whether a source can be opened. */
export function canOpen({ dataSourceId, url }: Source): boolean {
  return url !== null || dataSourceId !== ''
}

/** sourcesOf returns the sources of an answer: from its stream while it is running, then from the store. */
export function sourcesOf(
  view: Pick<AnswerView, 'sources' | 'citations'> | null,
  stored: readonly Citation[],
): readonly Source[] {
  if (view === null) return decodeCitations(stored) ?? []
  return view.citations ?? view.sources.map(givenSource)
}

/**
 * sortSources separates the cited sources, in the order of their numbers, from the sources that were only consulted.
 */
export function sortSources(
  sources: readonly Source[],
  text: string,
): { readonly cited: readonly Source[]; readonly consulted: readonly Source[] } {
  const checked = sources.some(({ support }) => support !== null)
  const isCited = ({ index, support }: Source) => (checked ? support !== null : text.includes(`[${index}]`))
  return {
    cited: sources.filter(isCited).sort((a, b) => a.index - b.index),
    consulted: sources.filter((source) => !isCited(source)),
  }
}

type Place = Pick<Source, 'filename' | 'page' | 'locator' | 'url' | 'site' | 'publishedOn'>

/**
 * placeOf returns the place of a source in few words: the page of a PDF, the slide, the cells, the last heading, or the
 * site and date of a web page.
 */
export function placeOf({ filename, page, locator, url, site, publishedOn }: Place): string {
  if (url !== null) return [site, publishedOn && formatDay(publishedOn)].filter(Boolean).join(' ')
  if (hasPictures(filename) && page > 0) return texts.page(page)
  return locator.split(' > ').at(-1) ?? ''
}

/** titleOf returns the name and the place of a source: 就業規則.pdf 3ページ. */
export function titleOf(source: Place): string {
  return [source.filename, placeOf(source)].filter(Boolean).join(' ')
}

/** quoteOf returns the quote of a source for reading: without Markdown syntax if it is a web page. */
export function quoteOf({ quote, url }: Source): string {
  if (url === null) return quote
  return quote
    .replace(/!?\[([^\]]*)\]\([^)\s]*(?:\s+"[^"]*")?\)/g, '$1')
    .replace(/^[ \t]*(?:>[ \t]*)*(?:#{1,6}[ \t]+|```.*)?/gm, '')
    .replace(/^[*+-][ \t]+/gm, '・')
    .replace(/^\|?[ \t:|-]*-{3}[ \t:|-]*\|?$\n?/gm, '')
    .replace(/^\|[ \t]*(.*?)[ \t]*\|$/gm, (_, cells: string) => cells.replace(/[ \t]*\|[ \t]*/g, '、'))
    .replace(/\*\*|__|`|(?<![*\w])\*(?=\S)|(?<=\S)\*(?![*\w])/g, '')
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .trim()
}

/** spokenTitle returns the name of a citation for screen readers. `note` is the result of `noteOf`. */
export function spokenTitle(source: Source, note: string): string {
  const { index, url } = source
  return texts.citation.spoken(index, titleOf(source), note) + (url ? texts.citation.opens : '')
}

/** noteOf returns a note about a source with unsupported citations in the text: 要確認, 一部要確認, or ''. */
export function noteOf({ index, support, weakOccurrences, deleted }: Source, text: string): string {
  if (support !== 'weak' || deleted) return ''
  const withoutCode = text.replace(/(`{3,}|~{3,})[\s\S]*?\1|`[^`\n]*`/g, '')
  const cited = withoutCode.split(`[${index}]`).length - 1
  return weakOccurrences !== null && weakOccurrences.length < cited
    ? texts.citation.partlyWeak
    : texts.citation.weak
}

/** markUnsupported marks the unsupported citations in the text of an answer for the renderer. */
export function markUnsupported(text: string, sources: Iterable<Source>): string {
  const weak = new Map(
    [...sources]
      .filter(({ support, deleted }) => support === 'weak' && !deleted)
      .map(({ index, weakOccurrences }) => [index, weakOccurrences && new Set(weakOccurrences)]),
  )
  if (weak.size === 0) return text
  return markWeak(text, (index, occurrence) => weak.has(index) && (weak.get(index)?.has(occurrence) ?? true))
}

/** sourceLines returns a line for each cited source, for texts that are copied or saved. */
export function sourceLines({
  citations,
  content,
}: Pick<Message, 'citations' | 'content'>): readonly string[] {
  const { cited } = sortSources(sourcesOf(null, citations), content)
  return cited.map((source) => {
    const note = noteOf(source, content)
    return [`[${source.index}] ${titleOf(source)}${note && `（${note}）`}`, source.url]
      .filter(Boolean)
      .join(' ')
  })
}

/** citationsOf returns the citations of an answer that has just finished, until the server's record arrives. */
export function citationsOf(view: Pick<AnswerView, 'sources' | 'citations'>, text: string): Citation[] {
  const sources = sourcesOf(view, [])
  const known = view.citations === null ? sortSources(sources, text).cited : sources
  return known.map(toCitation)
}

function givenSource({ id, filename, title, page, mediaType: _, ...rest }: AnswerSource): Source {
  return {
    ...rest,
    passageId: id,
    filename: rest.url === null ? filename : title || rest.url,
    page: page ?? 0,
    score: 0,
    quote: '',
    support: null,
    weakOccurrences: null,
    deleted: false,
  }
}

function toCitation(source: Source): Citation {
  const { passageId, index, filename, page, locator, quote, support, dataSourceId, url, site } = source
  const { publishedOn, weakOccurrences, deleted } = source
  return {
    index,
    ...(passageId && { chunk_embedding_id: passageId }),
    filename,
    page,
    score: 0,
    quote,
    ...(dataSourceId && { data_source_id: dataSourceId }),
    ...(url !== null && { url, site, ...(publishedOn && { published_on: publishedOn }) }),
    ...(locator && { locator }),
    ...(support && { support }),
    ...(deleted && { deleted }),
    ...(weakOccurrences !== null && { weak_occurrences: [...weakOccurrences] }),
  }
}
