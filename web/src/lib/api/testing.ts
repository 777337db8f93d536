import { queryClient } from './queries'

/** Puts a complete list into the cache. */
export function fillList(query: { readonly queryKey: readonly unknown[] }, items: readonly unknown[]): void {
  queryClient.setQueryData(query.queryKey, { pages: [{ items, more: false }], pageParams: [0] })
}
