/** SourcePlace is a place in a data source: a passage, else a page, else the beginning. */
export interface SourcePlace {
  readonly dataSourceId: string
  readonly chunkId?: string | undefined
  /** In a URL with a passage: the page that the user turned to. */
  readonly page?: number | undefined
  /** The number of the citation. */
  readonly index?: number | undefined
}

/** The names of the viewer's parameters in the URL. */
const names = { source: 'source', passage: 'passage', page: 'page' } as const

/** placeOf returns the place in the parameters of a URL, or null. */
export function placeOf(params: URLSearchParams): SourcePlace | null {
  const dataSourceId = params.get(names.source)
  if (!dataSourceId) return null
  const page = Number(params.get(names.page))
  return {
    dataSourceId,
    chunkId: params.get(names.passage) ?? undefined,
    page: Number.isInteger(page) && page > 0 ? page : undefined,
  }
}

/** searchWith returns the query of a URL with the given place, or without any. */
export function searchWith(search: string, place: SourcePlace | null): string {
  const params = new URLSearchParams(search)
  for (const name of Object.values(names)) params.delete(name)
  if (place !== null) {
    params.set(names.source, place.dataSourceId)
    if (place.chunkId !== undefined) params.set(names.passage, place.chunkId)
    if (place.page !== undefined) params.set(names.page, String(place.page))
  }
  return params.size === 0 ? '' : `?${params}`
}
