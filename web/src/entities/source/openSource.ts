import { useCallback } from 'react'
import { useNavigate } from 'react-router'

/** SourcePlace is a place in a data source: a passage, else a page, else the beginning. */
export interface SourcePlace {
  readonly dataSourceId: string
  readonly chunkId?: string | undefined
  /** In a URL with a passage: the page that the user turned to. */
  readonly page?: number | undefined
  /** The number of the citation. */
  readonly index?: number | undefined
}

/** ViewerState is the viewer's part of a history entry's state. */
export interface ViewerState {
  /** The citations to step through. */
  readonly citations: readonly SourcePlace[]
  /** Whether opening the viewer added a history entry. Closing it then goes back. */
  readonly pushed: boolean
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

/** viewerStateOf reads the viewer's part of a history entry's state. */
export function viewerStateOf(state: unknown): ViewerState {
  const viewer = (state as { viewer?: ViewerState } | null)?.viewer
  return viewer ?? { citations: [], pushed: false }
}

/** Show opens the viewer at a place, or moves it there. */
type Show = (place: SourcePlace, citations?: readonly SourcePlace[]) => void

/** useShowPlace returns a stable function that shows a place exactly as given. */
export function useShowPlace(): Show {
  const navigate = useNavigate()
  return useCallback(
    (place, citations = []) => {
      // Read at the time of the call, because a hook would render every citation again on each navigation.
      const { search, hash } = window.location
      const isOpen = placeOf(new URLSearchParams(search)) !== null
      const state = (window.history.state as { usr?: object } | null)?.usr
      const viewer: ViewerState = { citations, pushed: !isOpen || viewerStateOf(state).pushed }
      void navigate(
        { search: searchWith(search, place), hash },
        { replace: isOpen, state: { ...state, viewer }, preventScrollReset: true },
      )
    },
    [navigate],
  )
}

/**
 * useOpenSource returns a stable function that opens the viewer with a separate history entry, so that going back
 * closes it. A passage is shown on its page. `citations` are those of the same answer.
 */
export function useOpenSource(): Show {
  const show = useShowPlace()
  return useCallback(
    (place, citations) =>
      show(place.chunkId === undefined ? place : { ...place, page: undefined }, citations),
    [show],
  )
}
