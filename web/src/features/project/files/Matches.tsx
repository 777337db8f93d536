import { useState } from 'react'
import { Button } from '@/components/Button'
import { Snippet } from '@/components/Snippet'
import { Loaded } from '@/components/States'
import { hasPictures } from '@/entities/source/files'
import { useOpenSource } from '@/entities/source/openSource'
import type { ProjectMatch } from '@/lib/api'
import styles from '../Project.module.css'
import { LinesLoading } from '../parts'
import { useProjectMatches } from '../queries'
import { texts } from '../texts'
import files from './Files.module.css'

const words = texts.files.matches

/** The number of passages that are shown first, so that the matching names below them are visible. */
const FIRST = 5

/** Matches shows the passages of the project's files that a search has found. */
export function Matches({ projectId, query }: { projectId: string; query: string }) {
  const { asking, ...matches } = useProjectMatches(projectId, query)
  return (
    <section className={files.results} aria-label={words.title} aria-busy={asking}>
      <h2>{words.title}</h2>
      <Loaded query={matches} loading={<LinesLoading />} empty={<p className={styles.quiet}>{words.none}</p>}>
        {/* Another query shows its first passages only. */}
        {(items) => <MatchList key={query} items={items} />}
      </Loaded>
      <p className="visually-hidden" role="status">
        {!asking && matches.data && words.found(matches.data.length)}
      </p>
    </section>
  )
}

function MatchList({ items }: { items: readonly ProjectMatch[] }) {
  const [all, setAll] = useState(false)
  return (
    <>
      <ul className={styles.list}>
        {items.slice(0, all ? items.length : FIRST).map((match) => (
          <Match key={match.chunk_embedding_id} match={match} />
        ))}
      </ul>
      {!all && items.length > FIRST && (
        <Button size="sm" onClick={() => setAll(true)}>
          {words.all(items.length)}
        </Button>
      )}
    </>
  )
}

/** Match is a passage, which opens in the viewer. */
function Match({ match }: { match: ProjectMatch }) {
  const { data_source_id, chunk_embedding_id, filename, page, locator, snippet, ranges } = match
  const open = useOpenSource()
  return (
    <li className={files.match}>
      <button
        type="button"
        onClick={() => open({ dataSourceId: data_source_id, chunkId: chunk_embedding_id })}
      >
        <strong>{filename}</strong>
        <small>{words.place(hasPictures(filename) ? page : null, locator)}</small>
        <span>
          <Snippet text={snippet} ranges={ranges} />
        </span>
      </button>
    </li>
  )
}
