import { useCallback } from 'react'
import { useNavigate } from 'react-router'
import { placeOf, type SourcePlace, searchWith } from '@/lib/ui/sourcePlace'

/** ViewerState is the viewer's part of a history entry's state. */
interface ViewerState {
  /** The citations to step through. */
  readonly citations: readonly SourcePlace[]
  /** Whether opening the viewer added a history entry. Closing it then goes back. */
  readonly pushed: boolean
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
