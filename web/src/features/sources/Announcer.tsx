import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { sourcesQuery } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { useList } from '@/lib/api/lists'
import { type Ended, endedSources, refusedUploads } from './ended'
import { texts } from './texts'

const words = texts.said

/** Announcer announces to screen readers, once per file, whether it can be used. It does not announce progress. */
export function Announcer() {
  const { items, loaded } = useList(sourcesQuery)
  const shown = useSyncExternalStore(uploads.subscribe, () => uploads.uploads)
  const [said, setSaid] = useState('')
  const before = useRef({ items: loaded ? items : null, uploads: shown })

  useEffect(() => {
    const ended = endedSources(before.current.items, items)
    const refused = refusedUploads(before.current.uploads, shown)
    before.current = { items: loaded ? items : null, uploads: shown }
    const line = lineOf(ended, refused)
    if (line !== '') setSaid(line)
  }, [items, loaded, shown])

  return (
    <p className="visually-hidden" role="status" aria-live="polite" aria-atomic="true">
      {said}
    </p>
  )
}

function lineOf({ ready, failed }: Ended, refused: readonly { name: string; reason: string }[]): string {
  const parts = [
    said(ready, ({ filename }) => words.ready(filename), words.readyMany),
    said(failed, ({ filename, error = '' }) => words.failed(filename, error), words.failedMany),
    said(refused, ({ name, reason }) => words.refused(name, reason), words.refusedMany),
  ]
  return parts.filter(Boolean).join(' ')
}

/** said returns the text about one file or about several. */
function said<T>(files: readonly T[], one: (file: T) => string, many: (count: number) => string): string {
  const [first] = files
  if (first === undefined) return ''
  return files.length > 1 ? many(files.length) : one(first)
}
