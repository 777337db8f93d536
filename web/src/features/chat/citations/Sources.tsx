import { PageLink } from '@/components/PageLink'
import { cx } from '@/lib/ui/cx'
import { texts } from '../texts'
import type { Citations } from './Citation'
import { canOpen, noteOf, placeOf, type Source, spokenTitle, titleOf } from './citations'
import styles from './Sources.module.css'

interface SourcesProps {
  readonly cited: readonly Source[]
  readonly consulted: readonly Source[]
  /** The text of the answer. */
  readonly text: string
  readonly onOpen: Citations['open']
}

/** Sources lists the cited sources of an answer by number and, folded, the other consulted ones. */
export function Sources({ cited, consulted, text, onOpen }: SourcesProps) {
  if (cited.length + consulted.length === 0) return null
  const pages = consulted.every(({ url }) => url !== null)
  const others = pages ? texts.citation.otherPages : texts.citation.others
  const summary = pages ? texts.citation.consultedPages : texts.citation.consulted
  return (
    // No region: the regions of a page need different names.
    <div className={styles.sources} role="group" aria-label={cited.length > 0 ? texts.sources : others}>
      {cited.length > 0 && (
        <>
          <h3>{texts.sources}</h3>
          <List sources={cited} text={text} onOpen={onOpen} numbered />
        </>
      )}
      {consulted.length > 0 && (
        <details className={styles.consulted} data-print="hide">
          <summary>{summary(consulted.length)}</summary>
          <List sources={consulted} text={text} onOpen={onOpen} />
        </details>
      )}
    </div>
  )
}

function List({
  sources,
  text,
  onOpen,
  numbered = false,
}: {
  sources: readonly Source[]
  text: string
  onOpen: Citations['open']
  numbered?: boolean
}) {
  return (
    <ol className={styles.list}>
      {sources.map((source) => (
        <li key={`${source.index} ${source.passageId}`}>
          {!canOpen(source) ? (
            <span className={styles.source} title={source.deleted ? undefined : texts.citation.ofSkill}>
              <Label source={source} note={noteOf(source, text)} numbered={numbered} />
            </span>
          ) : source.url === null ? (
            <button
              type="button"
              className={styles.source}
              aria-label={numbered ? spokenTitle(source, noteOf(source, text)) : titleOf(source)}
              onClick={() => onOpen(source)}
            >
              <Label source={source} note={noteOf(source, text)} numbered={numbered} />
            </button>
          ) : (
            <PageLink
              url={source.url}
              className={cx(styles.source, styles.page)}
              aria-label={
                numbered ? spokenTitle(source, noteOf(source, text)) : titleOf(source) + texts.citation.opens
              }
            >
              <Label source={source} note={noteOf(source, text)} numbered={numbered} />
            </PageLink>
          )}
        </li>
      ))}
    </ol>
  )
}

function Label({ source, note, numbered }: { source: Source; note: string; numbered: boolean }) {
  const place = placeOf(source)
  return (
    <>
      {numbered && <span className={cx(styles.index, note && styles.weak)}>{source.index}</span>}
      <span className={styles.name}>{source.filename}</span>
      {place && <span className={styles.place}>{place}</span>}
      {note && <span className={styles.check}>{note}</span>}
    </>
  )
}
