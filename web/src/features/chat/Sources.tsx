import type { AnswerSource } from '@/lib/stream'
import styles from './Chat.module.css'
import { texts } from './texts'

/** The element of one source of one answer. */
export function sourceId(turnKey: string, index: number): string {
  return `source-${turnKey}-${index}`
}

/** What the answer refers to, in the order of the numbers in it. */
export function Sources({ turnKey, sources }: { turnKey: string; sources: readonly AnswerSource[] }) {
  if (sources.length === 0) return null
  return (
    <section className={styles.sources} aria-label={texts.sources}>
      <h3>{texts.sources}</h3>
      <ol>
        {sources.map((source) => (
          <li key={source.id} id={sourceId(turnKey, source.index)} tabIndex={-1} className={styles.source}>
            <span className={styles.sourceIndex}>{source.index}</span>
            {source.url === null ? (
              <span className={styles.sourceName}>{source.filename}</span>
            ) : (
              <a className={styles.sourceName} href={source.url} target="_blank" rel="noopener noreferrer">
                {source.title || source.url}
              </a>
            )}
            {source.page !== null && <span className={styles.sourcePage}>{texts.page(source.page)}</span>}
          </li>
        ))}
      </ol>
    </section>
  )
}
