import {
  type DataTag,
  type InfiniteData,
  infiniteQueryOptions,
  type QueryKey,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Page } from './client'
import { changeData, queryClient } from './queries'

/** A page as it was read. */
export interface ListPage<T> {
  readonly items: readonly T[]
  /** Whether it was full, so that there may be another one. */
  readonly more: boolean
}

type Pages<T> = InfiniteData<ListPage<T>, number>
type ListQuery<T> = UseInfiniteQueryOptions<ListPage<T>, Error, Pages<T>, QueryKey, number>
type ListKey<T> = DataTag<QueryKey, InfiniteData<ListPage<T>>, Error>
type Identified = { readonly id: string }

/**
 * The query of a list that is read `size` items at a time. The next page begins after the items at hand, not after the
 * number of pages read: items may have been added or removed since.
 */
export function listQuery<T extends Identified>(
  queryKey: QueryKey,
  size: number,
  read: (page: Page, signal: AbortSignal) => Promise<T[]>,
) {
  return infiniteQueryOptions<ListPage<T>, Error, Pages<T>, QueryKey, number>({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const items = await read({ offset: pageParam, limit: size }, signal)
      return { items, more: items.length >= size }
    },
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.more ? distinct(pages).length : undefined),
  })
}

/** The items of a list that are at hand. */
export function itemsOf<T extends Identified>({ queryKey }: { queryKey: ListKey<T> }): readonly T[] {
  const data = queryClient.getQueryData<Pages<T>>(queryKey)
  return data ? distinct(data.pages) : []
}

/**
 * Changes the items at hand, if the list has been read. `change` may be called again with the items of an answer that was
 * on its way; `hasMore` tells it whether there may be items after the last one.
 */
export function changeItems<T extends Identified>(
  { queryKey }: { queryKey: ListKey<T> },
  change: (items: readonly T[], hasMore: boolean) => readonly T[],
): void {
  changeData<Pages<T>>(queryKey, (data) => {
    const items = change(distinct(data.pages), data.pages.at(-1)?.more ?? false)
    // As many pages as before, so that as many are read when the list is read again.
    return { ...data, pages: data.pages.map((page, at) => ({ ...page, items: at === 0 ? items : [] })) }
  })
}

/** Each item once: one that moved between two pages while they were read is in both. */
function distinct<T extends Identified>(pages: readonly ListPage<T>[]): readonly T[] {
  return [...new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item] as const))).values()]
}

/** A list as a screen shows it. */
export interface List<T> {
  readonly items: readonly T[]
  /** Whether the first page has come. */
  readonly loaded: boolean
  /** Whether an answer is on its way. */
  readonly asking: boolean
  /** Whether that answer brings items that are not shown yet: the first page, or the next one. */
  readonly loading: boolean
  /** Why the first or the next page could not be read. */
  readonly error: Error | null
  /** Whether there may be another page. */
  readonly hasMore: boolean
  /** Whether `loadMore` would read another page now. */
  readonly ready: boolean
  /** Reads the next page; does nothing while an answer is on its way. */
  readonly loadMore: () => void
  /** Reads again what could not be read. */
  readonly retry: () => void
}

/** Renders with a list, and reads it when it is shown for the first time. */
export function useList<T extends Identified>(query: ListQuery<T>): List<T> {
  const result = useInfiniteQuery(query, queryClient)
  const { data, isFetching, hasNextPage, fetchNextPage, refetch } = result
  const items = useMemo(() => distinct(data?.pages ?? []), [data])
  // A list that could not be read again is shown as it is; the next event or reload brings it up to date.
  const failed = !isFetching && (result.isLoadingError || result.isFetchNextPageError)
  const loadMore = () => {
    if (!isFetching) void fetchNextPage({ cancelRefetch: false })
  }
  return {
    items,
    loaded: data !== undefined,
    asking: isFetching,
    loading: isFetching && (data === undefined || result.isFetchingNextPage),
    error: failed ? result.error : null,
    hasMore: hasNextPage,
    ready: hasNextPage && !isFetching && !failed,
    loadMore,
    retry: data === undefined ? () => void refetch() : loadMore,
  }
}
