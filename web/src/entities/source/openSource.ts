import { useCallback } from 'react'
import { useNavigate } from 'react-router'

/** A place in a data source: a passage, or else a page, or else its beginning. */
export interface SourcePlace {
  readonly dataSourceId: string
  readonly chunkId?: string | undefined
  /** In the address, with a passage: the page that was turned to while looking at it. */
  readonly page?: number | undefined
  /** The number of the citation that refers to it. */
  readonly index?: number | undefined
}

/** What the history entry keeps of the viewer. */
export interface ViewerState {
  /** The citations that one can step through. */
  readonly citations: readonly SourcePlace[]
  /** Whether opening it made a history entry, which closing it leaves. */
  readonly pushed: boolean
}

/** The parameters of the address that name what the viewer shows. */
const names = { source: 'source', passage: 'passage', page: 'page' } as const

/** The place that an address names; null if it names none. */
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

/** The search part of an address with a place in it, or without any. */
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

/** What a history entry's state says of the viewer. */
export function viewerStateOf(state: unknown): ViewerState {
  const viewer = (state as { viewer?: ViewerState } | null)?.viewer
  return viewer ?? { citations: [], pushed: false }
}

/** Shows a place: opens the viewer, or shows something else in it. */
type Show = (place: SourcePlace, citations?: readonly SourcePlace[]) => void

/** Shows a place just as it is given. The returned function stays the same. */
export function useShowPlace(): Show {
  const navigate = useNavigate()
  return useCallback(
    (place, citations = []) => {
      // Read when it is called: a hook would draw every citation anew with each navigation.
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
 * Opens the viewer beside the page: the way back closes it. A passage is shown on its own page. `citations` are those
 * of the answer it is opened from. The returned function stays the same.
 */
export function useOpenSource(): Show {
  const show = useShowPlace()
  return useCallback(
    (place, citations) =>
      show(place.chunkId === undefined ? place : { ...place, page: undefined }, citations),
    [show],
  )
}
