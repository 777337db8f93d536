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
  const parts: string[] = []
  const [usable, unread, unsent] = [ready[0], failed[0], refused[0]]
  if (usable) parts.push(ready.length > 1 ? words.readyMany(ready.length) : words.ready(usable.filename))
  if (unread)
    parts.push(
      failed.length > 1 ? words.failedMany(failed.length) : words.failed(unread.filename, unread.error ?? ''),
    )
  if (unsent)
    parts.push(
      refused.length > 1 ? words.refusedMany(refused.length) : words.refused(unsent.name, unsent.reason),
    )
  return parts.join(' ')
}
