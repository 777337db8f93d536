import type { Upload } from '@/entities/source/uploads'
import type { DataSource } from '@/lib/api'

/** Data sources whose reading has just ended. */
export interface Ended {
  readonly ready: readonly DataSource[]
  readonly failed: readonly DataSource[]
}

/**
 * Whose reading has ended from one list to the next. A small file may have been read before anything was told of it: it
 * stands above all that were known, while what is further down is only seen for the first time. Before the first list,
 * which is null, nothing was known.
 */
export function endedSources(before: readonly DataSource[] | null, now: readonly DataSource[]): Ended {
  if (before === null || before === now) return { ready: [], failed: [] }
  const known = new Map(before.map((source) => [source.id, source]))
  const firstKnown = now.findIndex(({ id }) => known.has(id))
  const ended = now.filter((source, at) => {
    const earlier = known.get(source.id)
    if (earlier !== undefined) return source.revision > earlier.revision
    return at < firstKnown || (firstKnown < 0 && before.length === 0)
  })
  return {
    ready: ended.filter(({ status }) => status === 'success'),
    failed: ended.filter(({ status }) => status === 'failed'),
  }
}

/** Which uploads have failed from one moment to the next. */
export function refusedUploads(
  before: readonly Upload[],
  now: readonly Upload[],
): { name: string; reason: string }[] {
  const failed = new Set(before.filter(({ state }) => state === 'failed').map(({ id }) => id))
  return now
    .filter(({ id, state }) => state === 'failed' && !failed.has(id))
    .map(({ file, reason }) => ({ name: file.name, reason }))
}
