import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { UploadQueue } from '@/entities/source/uploads'
import type { Picture } from '@/lib/api'
import { getPicture, uploadPicture } from '@/lib/api/pictures'
import { queryClient } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import { attachPicture, readAttachments } from './attachments'
import { texts } from './texts'

/** The most pictures of a question. */
export const MAX_PICTURES = 10

/** What a chooser offers. Phones turn the photographs that they keep in another format into one of these. */
export const PICTURE_TYPES = 'image/jpeg,image/png,image/webp'

const MAX_BYTES = 20 * 1024 * 1024

/** How long a picture that is not shown any more is kept. */
const KEPT_MS = 300_000

/** Whether a file is meant as a picture. What the server does not take of them is refused with what to do. */
export function isPicture(file: File): boolean {
  return file.type.startsWith('image/') || /\.(heic|heif|avif)$/i.test(file.name)
}

/** The same upload, tried again, has the same request id. */
const requestIds = new WeakMap<File, string>()

function requestIdOf(file: File): string {
  const known = requestIds.get(file) ?? crypto.randomUUID()
  requestIds.set(file, known)
  return known
}

/** The pictures of this tab that are on their way to the server. */
export const pictureUploads = new UploadQueue<Picture>({
  send: (file, options) => uploadPicture(file, requestIdOf(file), options),
  onSent: () => {},
  lines: 1,
  whyRefused: ({ size }) => {
    if (size === 0) return texts.pictures.empty
    return size > MAX_BYTES ? texts.pictures.tooLarge : undefined
  },
})

/** Uploads pictures for the question in a composer, as many as it may have. */
export function addPictures(key: string, files: readonly File[], had = 0): void {
  const uploading = pictureUploads.uploads.filter(({ to }) => to?.name === key).length
  const room = Math.max(0, MAX_PICTURES - had - readAttachments(key).pictures.length - uploading)
  pictureUploads.add(files.slice(0, room), {
    name: key,
    onSent: (picture) => attachPicture(key, picture),
  })
  if (files.length > room) toast(texts.pictures.tooMany(MAX_PICTURES, files.length - room))
}

function pictureQuery(id: string, size: 'thumbnail' | 'full') {
  return queryOptions({
    queryKey: ['picture', id, size],
    queryFn: ({ signal }) => getPicture(id, size, signal),
    // A picture never changes.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  })
}

/** A picture as a URL that an image can show; null until it is there. */
export function usePictureUrl(id: string, size: 'thumbnail' | 'full') {
  const { data, isError, refetch } = useQuery(pictureQuery(id, size), queryClient)
  return { url: useBlobUrl(data), failed: isError, blob: data, retry: () => void refetch() }
}

/** A URL of a blob as long as the component is there. */
export function useBlobUrl(blob: Blob | undefined): string | null {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (blob === undefined) return
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => {
      setUrl(null)
      URL.revokeObjectURL(made)
    }
  }, [blob])
  return url
}
