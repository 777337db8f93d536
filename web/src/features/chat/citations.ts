import { hasPictures } from '@/entities/source/files'
import type { Citation, Message } from '@/lib/api'
import type { AnswerCitation, AnswerSource, AnswerView, Support } from '@/lib/stream'
import { texts } from './texts'

/** A source of an answer as the screen shows it: a passage of a document, or a page of the web. */
export interface Source {
  /** The passage's id, or the address of the page. */
  readonly id: string
  readonly index: number
  readonly name: string
  /** 0 where the file has no pages. */
  readonly page: number
  /** Where in the document, for a reader; may be empty. */
  readonly locator: string
  /** What stands there; empty while it is not known. */
  readonly quote: string
  /** What the check of the answer has found; null for what is not cited, and while nothing is checked. */
  readonly support: Support | null
  /** Empty for a document of the skill, which only its citations show. */
  readonly dataSourceId: string
  readonly url: string | null
}

/** Whether a source can be opened. */
export function canOpen({ dataSourceId, url }: Source): boolean {
  return url !== null || dataSourceId !== ''
}

/** The sources of an answer, as its stream tells of them while it is written, and as they are stored after that. */
export function sourcesOf(
  view: Pick<AnswerView, 'sources' | 'citations'> | null,
  stored: readonly Citation[],
): readonly Source[] {
  if (view === null) return stored.map(storedSource)
  if (view.citations === null) return view.sources.map(givenSource)
  const pages = view.sources.filter(({ url }) => url !== null)
  return [...view.citations.map(checkedSource), ...pages.map(givenSource)]
}

/** The sources that an answer cites, in the order of their numbers, and those that were only consulted. */
export function sortSources(
  sources: readonly Source[],
  text: string,
): { readonly cited: readonly Source[]; readonly consulted: readonly Source[] } {
  const checked = sources.some(({ support }) => support !== null)
  const isCited = ({ index, support, url }: Source) =>
    url !== null || (checked ? support !== null : text.includes(`[${index}]`))
  return {
    cited: sources.filter(isCited).sort((a, b) => a.index - b.index),
    consulted: sources.filter((source) => !isCited(source)),
  }
}

/** Where in its file a source stands, in few words: the page of a PDF, the slide, the cells, the last heading. */
export function placeOf({ name, page, locator }: Pick<Source, 'name' | 'page' | 'locator'>): string {
  if (hasPictures(name) && page > 0) return texts.page(page)
  return locator.split(' > ').at(-1) ?? ''
}

/** A source by its name and place: 就業規則.pdf 3ページ. */
export function titleOf(source: Pick<Source, 'name' | 'page' | 'locator'>): string {
  return [source.name, placeOf(source)].filter(Boolean).join(' ')
}

/** What a citation is called, to be heard. */
export function spokenTitle(source: Source): string {
  return texts.citation.spoken(source.index, titleOf(source), source.support === 'weak')
}

/** The lines of what an answer cites, for texts that leave the app. */
export function sourceLines({
  citations,
  content,
}: Pick<Message, 'citations' | 'content'>): readonly string[] {
  const { cited } = sortSources(citations.map(storedSource), content)
  return cited.map((source) => {
    const weak = source.support === 'weak' ? texts.citation.weakMark : ''
    return `[${source.index}] ${titleOf(source)}${weak}`
  })
}

/** The citations of an answer that has just ended, until the server's own record of it is there. */
export function citationsOf(view: Pick<AnswerView, 'sources' | 'citations'>, text: string): Citation[] {
  const sources = sourcesOf(view, [])
  const known = view.citations === null ? sortSources(sources, text).cited : sources
  return known.filter(({ url }) => url === null).map(toCitation)
}

function storedSource(citation: Citation): Source {
  const { index, chunk_embedding_id, data_source_id, filename, page, locator, quote, support } = citation
  return {
    id: chunk_embedding_id ?? '',
    index,
    name: filename,
    page,
    locator: locator ?? '',
    quote,
    support: support ?? null,
    dataSourceId: data_source_id ?? '',
    url: null,
  }
}

function checkedSource({ passageId, filename, ...rest }: AnswerCitation): Source {
  return { ...rest, id: passageId, name: filename, url: null }
}

function givenSource({ id, index, filename, title, page, locator, dataSourceId, url }: AnswerSource): Source {
  const name = url === null ? filename : title || url
  return { id, index, name, page: page ?? 0, locator, quote: '', support: null, dataSourceId, url }
}

function toCitation({ id, index, name, page, locator, quote, support, dataSourceId }: Source): Citation {
  return {
    index,
    ...(id && { chunk_embedding_id: id }),
    ...(dataSourceId && { data_source_id: dataSourceId }),
    filename: name,
    page,
    score: 0,
    quote,
    ...(locator && { locator }),
    ...(support && { support }),
  }
}
