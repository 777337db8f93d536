import { queryClient } from './queries'

/** Puts a list into the cache as if the server had told all of it. */
export function fillList(query: { readonly queryKey: readonly unknown[] }, items: readonly unknown[]): void {
  queryClient.setQueryData(query.queryKey, { pages: [{ items, more: false }], pageParams: [0] })
}
