import { useLocation, useNavigate } from 'react-router'
import {
  placeOf,
  type SourcePlace,
  searchWith,
  useShowPlace,
  viewerStateOf,
} from '@/entities/source/openSource'

/** What the viewer shows, and how to go elsewhere. */
export interface ViewerPlace {
  readonly place: SourcePlace
  /** The citations of the answer that it was opened from. */
  readonly citations: readonly SourcePlace[]
  /** Where in these it is; -1 if at none of them. */
  readonly at: number
  readonly go: (place: SourcePlace) => void
  readonly close: () => void
}

/** The place in the address; null if it names none. */
export function useViewer(): ViewerPlace | null {
  const location = useLocation()
  const navigate = useNavigate()
  const show = useShowPlace()
  const place = placeOf(new URLSearchParams(location.search))
  if (place === null) return null

  const { citations, pushed } = viewerStateOf(location.state)
  const close = () => {
    if (pushed) return void navigate(-1)
    const to = { search: searchWith(location.search, null), hash: location.hash }
    void navigate(to, {
      replace: true,
      state: { ...location.state, viewer: undefined },
      preventScrollReset: true,
    })
  }
  return {
    place,
    citations,
    at: citations.findIndex((citation) => isAt(citation, place)),
    go: (next) => show(next, citations),
    close,
  }
}

function isAt(citation: SourcePlace, place: SourcePlace): boolean {
  if (citation.dataSourceId !== place.dataSourceId) return false
  return place.chunkId === undefined
    ? citation.chunkId === undefined && citation.page === place.page
    : citation.chunkId === place.chunkId
}
