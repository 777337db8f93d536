import {
  type DataTag,
  type InfiniteData,
  infiniteQueryOptions,
  type QueryKey,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Items, Page } from './pages'
import { changeData, queryClient } from './queries'

/** A loaded page. */
export interface ListPage<T> {
  readonly items: readonly T[]
  /** Whether the page was full, so that another one may follow. */
  readonly more: boolean
}

type Pages<T> = InfiniteData<ListPage<T>, number>
/** ListQuery is the query of a list. */
export type ListQuery<T> = UseInfiniteQueryOptions<ListPage<T>, Error, Pages<T>, QueryKey, number>
type ListKey<T> = DataTag<QueryKey, InfiniteData<ListPage<T>>, Error>
type Identified = { readonly id: string }

/**
 * The query of a list that is loaded `size` items at a time. The next page begins after the loaded items instead of the
 * number of loaded pages, because items may have been added or removed.
 */
export function listQuery<T extends Identified>(
  queryKey: QueryKey,
  size: number,
  read: (page: Page, signal: AbortSignal) => Promise<Items<T>>,
) {
  return infiniteQueryOptions<ListPage<T>, Error, Pages<T>, QueryKey, number>({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const { items } = await read({ offset: pageParam, limit: size }, signal)
      return { items, more: items.length >= size }
    },
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.more ? distinct(pages).length : undefined),
  })
}

/** The loaded items of a list. */
export function itemsOf<T extends Identified>({ queryKey }: { queryKey: ListKey<T> }): readonly T[] {
  const data = queryClient.getQueryData<Pages<T>>(queryKey)
  return data ? distinct(data.pages) : []
}

/**
 * changeItems changes the loaded items, if any. `change` may be called again with the items of a pending response.
 * `hasMore` is true if there may be items after the last one.
 */
export function changeItems<T extends Identified>(
  { queryKey }: { queryKey: ListKey<T> },
  change: (items: readonly T[], hasMore: boolean) => readonly T[],
): void {
  changeData<Pages<T>>(queryKey, (data) => {
    const items = change(distinct(data.pages), data.pages.at(-1)?.more ?? false)
    // The same number of pages as before, so that a reload loads as many.
    return { ...data, pages: data.pages.map((page, at) => ({ ...page, items: at === 0 ? items : [] })) }
  })
}

/** distinct removes duplicates. An item that moved between two pages during loading is in both. */
function distinct<T extends Identified>(pages: readonly ListPage<T>[]): readonly T[] {
  return [...new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item] as const))).values()]
}

/** A list for a screen. */
export interface List<T> {
  readonly items: readonly T[]
  /** Whether the first page has been loaded. */
  readonly loaded: boolean
  /** Whether a page is being loaded. */
  readonly asking: boolean
  /** Whether that page has items that are not shown yet: the first page, or the next one. */
  readonly loading: boolean
  /** The error of loading the first or the next page. */
  readonly error: Error | null
  /** Whether there may be another page. */
  readonly hasMore: boolean
  /** Whether `loadMore` would load another page now. */
  readonly ready: boolean
  /** Loads the next page; does nothing while a page is being loaded. */
  readonly loadMore: () => void
  /** Retries a failed load. */
  readonly retry: () => void
}

/** Subscribes to a list, and loads it when it is first used. */
export function useList<T extends Identified>(query: ListQuery<T>): List<T> {
  const result = useInfiniteQuery(query, queryClient)
  const { data, isFetching, hasNextPage, fetchNextPage, refetch } = result
  const items = useMemo(() => distinct(data?.pages ?? []), [data])
  // A list that failed to reload is shown unchanged. The next event or reload updates it.
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
