import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { whenIdle } from '@/lib/browser/idle'

/** The widths of page pictures, in pixels. The server allows 200 to 2,000. */
const WIDTHS = [400, 600, 800, 1000, 1200, 1600, 2000] as const

/** How long an unused picture stays in memory. */
const KEPT_MS = 120_000

/**
 * widthFor returns the smallest width that is sharp at `css` pixels. There are few widths, so that the server renders
 * few pictures.
 */
export function widthFor(css: number, pixelRatio: number): number {
  const needed = css * Math.min(pixelRatio, 2)
  return WIDTHS.find((width) => width >= needed) ?? 2000
}

function pictureQuery(sourceId: string, page: number, width: number) {
  return queryOptions({
    queryKey: ['page-picture', sourceId, page, width],
    queryFn: ({ signal }) => call('showDataSourcePage', { data_source_id: sourceId, page, width, signal }),
    // A page of a stored file is immutable.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  })
}

function anyWidth(sourceId: string, page: number): Blob | undefined {
  const known = queryClient.getQueriesData<Blob>({ queryKey: ['page-picture', sourceId, page] })
  return known.findLast(([, blob]) => blob !== undefined)?.[1]
}

/** Picture is a decoded picture, ready to render. */
interface Picture {
  readonly url: string
  /** Width divided by height. */
  readonly ratio: number
  /** The data source and the page of the picture. */
  readonly sourceId: string
  readonly page: number
}

/** usePicture loads a page as a picture for a width of `css` pixels, and prefetches the adjacent pages. */
export function usePicture(sourceId: string, page: number, pages: number, css: number) {
  const width = widthFor(css, window.devicePixelRatio)
  const { data, isError, error, refetch, isPlaceholderData } = useQuery(
    {
      ...pictureQuery(sourceId, page, width),
      // Do not load anything before the panel is measured.
      enabled: css > 0,
      // Until the sharper picture is loaded, scale an available one.
      placeholderData: () => anyWidth(sourceId, page),
    },
    queryClient,
  )
  const picture = useDecoded(data, sourceId, page)
  const whole = data !== undefined && !isPlaceholderData

  useEffect(() => {
    if (!whole) return
    return whenIdle(() => {
      for (const next of [page + 1, page - 1])
        if (next >= 1 && next <= pages) void queryClient.prefetchQuery(pictureQuery(sourceId, next, width))
    })
  }, [whole, sourceId, page, pages, width])

  return { picture, error: isError ? error : null, retry: () => void refetch() }
}

/** useDecoded returns the picture once it is decoded. Until then it returns the previous one, to avoid flicker. */
function useDecoded(blob: Blob | undefined, sourceId: string, page: number): Picture | null {
  const [picture, setPicture] = useState<Picture | null>(null)
  useEffect(() => {
    if (blob === undefined) return
    const url = URL.createObjectURL(blob)
    const image = new Image()
    image.src = url
    let current = true
    image.decode().then(
      () => {
        const ratio = image.naturalWidth / Math.max(1, image.naturalHeight)
        if (current) setPicture({ url, ratio, sourceId, page })
      },
      () => {},
    )
    return () => {
      current = false
      // The next picture may not be rendered yet.
      setTimeout(() => URL.revokeObjectURL(url), 10_000)
    }
  }, [blob, sourceId, page])
  return picture?.sourceId === sourceId ? picture : null
}
