import { useLocation, useNavigate } from 'react-router'
import { useShowPlace, viewerStateOf } from '@/entities/source/openSource'
import { placeOf, type SourcePlace, searchWith } from '@/lib/ui/sourcePlace'

/** ViewerPlace is the location that the viewer shows, with functions to navigate. */
export interface ViewerPlace {
  readonly place: SourcePlace
  /** The citations of the answer that opened the viewer. */
  readonly citations: readonly SourcePlace[]
  /** The index of the current citation; -1 if none is shown. */
  readonly at: number
  readonly go: (place: SourcePlace) => void
  readonly close: () => void
}

/** useViewer returns the location in the URL, or null if the URL has none. */
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
