import { createContext, useContext } from 'react'
import type { CitationProps } from '@/lib/markdown'
import type { Answer, AnswerCitation, AnswerSource } from '@/lib/stream'
import { searchWith } from '@/lib/ui/sourcePlace'
import { t } from '../lib/texts'
import styles from './Panel.module.css'

/** Source is a source of an answer: the page, or a passage of a file. */
interface Source {
  readonly index: number
  readonly name: string
  /** The place in the file in words; may be empty. */
  readonly place: string
  /** Whether the answer's check found sentences that it does not support. */
  readonly weak: boolean
  /** The address of the page, or of the file in the app; null if it cannot be opened. */
  readonly url: string | null
}

type Sources = ReadonlyMap<number, Source>

/** The sources of an answer by number. */
export const SourcesContext = createContext<Sources>(new Map())

/** sourcesOf returns the sources that an answer cites, by number. `origin` is the server. */
export function sourcesOf({ sources, citations, threadId, text }: Answer, origin: string): Sources {
  const chat = threadId && origin ? `${origin}/chat/${threadId}` : null
  const all =
    citations?.map((citation) => toSource(citation, citation.passageId, chat)) ??
    sources.map((source) => toSource(source, source.id, chat))
  return new Map(
    all.filter(({ index }) => text.includes(`[${index}]`)).map((source) => [source.index, source]),
  )
}

/** toSource returns a source. `chat` is the address of the thread in the app. */
function toSource(source: AnswerSource | AnswerCitation, chunkId: string, chat: string | null): Source {
  const { index, page, locator, dataSourceId, url, filename: name } = source
  return {
    index,
    name,
    place: /\.pdf$/i.test(name) && page ? t('sourcePage', page) : (locator.split(' > ').at(-1) ?? ''),
    weak: 'support' in source && source.support === 'weak',
    url: url ?? (dataSourceId && chat ? chat + searchWith('', { dataSourceId, chunkId }) : null),
  }
}

/** Citation renders `[1]` in an answer as a link to the source. A number without a source stays text. */
export function Citation({ index }: CitationProps) {
  const source = useContext(SourcesContext).get(index)
  if (source === undefined || source.url === null) return `[${index}]`
  return (
    <a
      className={styles.citation}
      href={source.url}
      target="_blank"
      rel="noreferrer"
      aria-label={t('citation', index, titleOf(source))}
    >
      [{index}]
    </a>
  )
}

/** SourceList lists the sources that an answer cites, by number. */
export function SourceList() {
  const sources = [...useContext(SourcesContext).values()].sort((a, b) => a.index - b.index)
  if (sources.length === 0) return null
  return (
    <section className={styles.sources} aria-label={t('sources')}>
      <h3>{t('sources')}</h3>
      <ul>
        {sources.map((source) => (
          <li key={source.index}>
            <span>[{source.index}]</span>
            <span>
              {source.url === null ? (
                titleOf(source)
              ) : (
                <a href={source.url} target="_blank" rel="noreferrer">
                  {titleOf(source)}
                </a>
              )}
              {source.weak && <strong>{t('weakSource')}</strong>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function titleOf({ name, place }: Source): string {
  return [name, place].filter(Boolean).join(' ')
}
