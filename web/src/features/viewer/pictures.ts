import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { getPagePicture } from '@/lib/api/dataSources'
import { queryClient } from '@/lib/api/queries'
import { whenIdle } from '@/lib/browser/idle'

/** The widths in which pictures are asked for, in pixels: the server allows 200 to 2,000. */
const WIDTHS = [400, 600, 800, 1000, 1200, 1600, 2000] as const

/** How long a picture that is not shown any more is kept. */
const KEPT_MS = 120_000

/** The least width of a picture that is sharp in `css` pixels: few widths, so that few pictures are drawn and read. */
export function widthFor(css: number, pixelRatio: number): number {
  const needed = css * Math.min(pixelRatio, 2)
  return WIDTHS.find((width) => width >= needed) ?? 2000
}

function pictureQuery(sourceId: string, page: number, width: number) {
  return queryOptions({
    queryKey: ['page-picture', sourceId, page, width],
    queryFn: ({ signal }) => getPagePicture(sourceId, page, width, signal),
    // A page of a file that is kept never changes.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  })
}

function anyWidth(sourceId: string, page: number): Blob | undefined {
  const known = queryClient.getQueriesData<Blob>({ queryKey: ['page-picture', sourceId, page] })
  return known.findLast(([, blob]) => blob !== undefined)?.[1]
}

/** A picture that can be drawn at once. */
export interface Picture {
  readonly url: string
  /** Its width by its height. */
  readonly ratio: number
  /** What it shows. */
  readonly sourceId: string
  readonly page: number
}

/** A page as a picture, to be drawn `css` pixels wide; its neighbours are read ahead. */
export function usePicture(sourceId: string, page: number, pages: number, css: number) {
  const width = widthFor(css, window.devicePixelRatio)
  const { data, isError, error, refetch, isPlaceholderData } = useQuery(
    {
      ...pictureQuery(sourceId, page, width),
      // Nothing is read for a panel that is not measured yet.
      enabled: css > 0,
      // Until the sharper one has come, the one at hand is shown larger.
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

/** The picture once it is decoded: until then the last one stays, so that nothing flickers. */
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
      // The next one may not be drawn yet.
      setTimeout(() => URL.revokeObjectURL(url), 10_000)
    }
  }, [blob, sourceId, page])
  return picture?.sourceId === sourceId ? picture : null
}
