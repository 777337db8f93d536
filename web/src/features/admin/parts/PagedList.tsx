import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, Loaded } from '@/components/States'
import type { Counted } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { common } from '../texts'
import type { UrlState } from '../urlState'
import { LinesLoading } from './Loading'
import { Paging } from './Paging'
import table from './Table.module.css'

/** PageQuery returns the query of a page. Pages count from 1. */
export type PageQuery<Item, Key extends QueryKey> = (
  page: number,
) => UseQueryOptions<Counted<Item>, Error, Counted<Item>, Key>

export interface PagedListProps<Item, Key extends QueryKey> {
  url: UrlState
  query: PageQuery<Item, Key>
  /** Replaces an empty list. */
  empty: ReactNode
  /** The status for screen readers after filtering. */
  found?: ((total: string) => string) | undefined
  /** A note below the list. */
  note?: (total: number) => ReactNode
  /** A page that is not empty; `busy` while the next one loads. */
  children: (items: readonly Item[], busy: boolean) => ReactNode
}

/** PagedList is a list with pages, with its loading, empty and error states. The page number is in the URL. */
export function PagedList<Item, Key extends QueryKey>(props: PagedListProps<Item, Key>) {
  const { url, query, empty, found, note, children } = props
  const result = useQuery({
    ...query(url.page),
    placeholderData: (before: Counted<Item> | undefined) => before,
  })
  const { data, isPlaceholderData: busy } = result
  return (
    <div className={table.box}>
      {found && (
        <p className="visually-hidden" role="status">
          {data && !busy && found(formatNumber(data.total))}
        </p>
      )}
      <Loaded query={result} loading={<LinesLoading />} empty={empty}>
        {({ items }) => items.length > 0 && children(items, busy)}
      </Loaded>
      {data && <Paging url={url} total={data.total} shown={data.items.length} />}
      {data && note?.(data.total)}
    </div>
  )
}

interface NoMatchProps {
  words: { empty: string; emptyHint?: string }
  onReset: () => void
}

/** NoMatch reports that no item matches the filters, and resets them. */
export function NoMatch({ words, onReset }: NoMatchProps) {
  return (
    <EmptyState title={words.empty}>
      <p>{words.emptyHint ?? common.emptyHint}</p>
      <Button size="sm" onClick={onReset}>
        {common.reset}
      </Button>
    </EmptyState>
  )
}

interface NothingProps {
  url: UrlState
  /** The names of the filters in the URL. */
  filters?: readonly string[]
  words: NoMatchProps['words'] & { none: string; noneHint?: string }
}

/** Nothing renders the empty state of a list, with or without filters. */
export function Nothing({ url, filters = ['q'], words }: NothingProps) {
  if (filters.some((name) => url.get(name) !== '')) {
    const reset = () => url.set(Object.fromEntries(filters.map((name) => [name, ''])))
    return <NoMatch words={words} onReset={reset} />
  }
  return <EmptyState title={words.none}>{words.noneHint && <p>{words.noneHint}</p>}</EmptyState>
}
