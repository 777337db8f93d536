import { PageLink } from '@/components/PageLink'
import { cx } from '@/lib/ui/cx'
import type { Citations } from './Citation'
import { canOpen, placeOf, type Source, spokenTitle, titleOf } from './citations'
import styles from './Sources.module.css'
import { texts } from './texts'

interface SourcesProps {
  readonly cited: readonly Source[]
  readonly consulted: readonly Source[]
  readonly onOpen: Citations['open']
}

/** What an answer cites, in the order of the numbers in it, and folded away what else was consulted for it. */
export function Sources({ cited, consulted, onOpen }: SourcesProps) {
  if (cited.length + consulted.length === 0) return null
  const pages = consulted.every(({ url }) => url !== null)
  const others = pages ? texts.citation.otherPages : texts.citation.others
  const summary = pages ? texts.citation.consultedPages : texts.citation.consulted
  return (
    <section className={styles.sources} aria-label={cited.length > 0 ? texts.sources : others}>
      {cited.length > 0 && (
        <>
          <h3>{texts.sources}</h3>
          <List sources={cited} onOpen={onOpen} numbered />
        </>
      )}
      {consulted.length > 0 && (
        <details className={styles.consulted} data-print="hide">
          <summary>{summary(consulted.length)}</summary>
          <List sources={consulted} onOpen={onOpen} />
        </details>
      )}
    </section>
  )
}

function List({
  sources,
  onOpen,
  numbered = false,
}: {
  sources: readonly Source[]
  onOpen: Citations['open']
  numbered?: boolean
}) {
  return (
    <ol className={styles.list}>
      {sources.map((source) => (
        <li key={`${source.index} ${source.id}`}>
          {!canOpen(source) ? (
            <span className={styles.source} title={texts.citation.ofSkill}>
              <Label source={source} numbered={numbered} />
            </span>
          ) : source.url === null ? (
            <button
              type="button"
              className={styles.source}
              aria-label={numbered ? spokenTitle(source) : titleOf(source)}
              onClick={() => onOpen(source)}
            >
              <Label source={source} numbered={numbered} />
            </button>
          ) : (
            <PageLink
              url={source.url}
              className={cx(styles.source, styles.page)}
              aria-label={numbered ? spokenTitle(source) : titleOf(source) + texts.citation.opens}
            >
              <Label source={source} numbered={numbered} />
            </PageLink>
          )}
        </li>
      ))}
    </ol>
  )
}

function Label({ source, numbered }: { source: Source; numbered: boolean }) {
  const place = placeOf(source)
  const weak = source.support === 'weak'
  return (
    <>
      {numbered && <span className={cx(styles.index, weak && styles.weak)}>{source.index}</span>}
      <span className={styles.name}>{source.name}</span>
      {place && <span className={styles.place}>{place}</span>}
      {weak && <span className={styles.check}>{texts.citation.weak}</span>}
    </>
  )
}
