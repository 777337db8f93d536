import { setValues, useQueryState } from '@/lib/ui/queryState'

/** The filters of a list, in the URL. */
export interface UrlState {
  /** A value in the URL; '' if it is missing. */
  get(name: string): string
  /** The current page, from 1. */
  readonly page: number
  /** Sets values ('' removes one) and returns to the first page. */
  set(values: Record<string, string>): void
  /** The URL of a page of the same list. */
  pageLink(page: number): string
}

/** Reads and changes the query of the URL. */
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

/** pageNumber parses the page number in a URL. Invalid text is the first page. */
function pageNumber(text: string | null): number {
  return text !== null && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1
}
