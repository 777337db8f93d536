import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call, type Passage } from '@/lib/api'

/** The number of passages per request: about 40,000 characters. */
const BATCH = 100

/** The number of passages to read before the marked one. */
const BEFORE = 5

/** passageQuery reads a passage and its position on the pages. */
export function passageQuery(chunkId: string) {
  return queryOptions({
    queryKey: ['passage', chunkId],
    queryFn: ({ signal }) => call('getChunkEmbedding', { chunk_embedding_id: chunkId, signal }),
    // Passages are immutable. Parsing a file again creates new passages.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** TextStart is the first position of a text to read. */
export type TextStart = { readonly ordinal: number } | { readonly page: number }

type From =
  | { readonly offset: number; readonly limit: number }
  | { readonly page: number; readonly limit: number }

/**
 * textQuery reads the passages of a data source from a position on, and earlier passages on demand. The data source must
 * have been read, so that its passages do not change.
 */
export function textQuery(sourceId: string, start: TextStart) {
  const first: From =
    'page' in start
      ? { page: start.page, limit: BATCH }
      : { offset: Math.max(0, start.ordinal - BEFORE), limit: BATCH }
  return infiniteQueryOptions({
    queryKey: ['passages', sourceId, start],
    queryFn: async ({ pageParam, signal }) =>
      (await call('listPassages', { data_source_id: sourceId, ...pageParam, signal })).items,
    initialPageParam: first as From,
    getNextPageParam: (last: readonly Passage[], _all, from): From | undefined => {
      const end = last.at(-1)
      return end && last.length >= from.limit ? { offset: end.ordinal + 1, limit: BATCH } : undefined
    },
    getPreviousPageParam: (before: readonly Passage[]): From | undefined => {
      const at = before[0]?.ordinal ?? 0
      const limit = Math.min(BATCH, at)
      return limit > 0 ? { offset: at - limit, limit } : undefined
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
}
