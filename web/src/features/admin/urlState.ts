import { setValues, useQueryState } from '@/lib/ui/queryState'

/** What a list is narrowed by, kept in the address. */
export interface UrlState {
  /** A value of the address; '' if it has none. */
  get(name: string): string
  /** The page that is shown, from 1. */
  readonly page: number
  /** Sets values ('' takes one away) and goes back to the first page. */
  set(values: Record<string, string>): void
  /** The address of a page of the same list. */
  pageLink(page: number): string
}

/** Reads and changes the part of the address after the question mark. */
export function useUrlState(): UrlState {
  const [params, change] = useQueryState()
  return {
    get: (name) => params.get(name) ?? '',
    page: pageNumber(params.get('page')),
    set: (values) => change((next) => setValues(next, { page: '', ...values })),
    pageLink: (page) => {
      const next = new URLSearchParams(params)
      if (page === 1) next.delete('page')
      else next.set('page', String(page))
      const search = next.toString()
      return search === '' ? '?' : `?${search}`
    },
  }
}

/** The number of a page, as an address has it. Anything else is the first one. */
export function pageNumber(text: string | null): number {
  return text !== null && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1
}
