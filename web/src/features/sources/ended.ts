import type { Upload } from '@/entities/source/uploads'
import type { DataSource } from '@/lib/api'

/** Ended holds the data sources whose extraction has just ended. */
export interface Ended {
  readonly ready: readonly DataSource[]
  readonly failed: readonly DataSource[]
}

/**
 * endedSources returns the data sources whose extraction has ended between two lists. The extraction of a small file
 * may end before the first list that contains it. Such a file is above all known ones, while unknown files below known
 * ones are older and were loaded later. `before` is null for the first list.
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

/** refusedUploads returns the uploads that have failed between two states. */
export function refusedUploads(
  before: readonly Upload[],
  now: readonly Upload[],
): { name: string; reason: string }[] {
  const failed = new Set(before.filter(({ state }) => state === 'failed').map(({ id }) => id))
  return now
    .filter(({ id, state }) => state === 'failed' && !failed.has(id))
    .map(({ file, reason }) => ({ name: file.name, reason }))
}
