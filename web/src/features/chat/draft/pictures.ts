import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { UploadQueue } from '@/entities/source/uploads'
import { call, type Picture } from '@/lib/api'
import { uploadPicture } from '@/lib/api/pictures'
import { queryClient } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import { texts } from '../texts'
import { attachPicture, readAttachments } from './attachments'

/** MAX_PICTURES is the maximum number of pictures in a question. */
const MAX_PICTURES = 10

/** PICTURE_TYPES are the types offered in the file picker. Phones convert photos of other formats into one of these. */
export const PICTURE_TYPES = 'image/jpeg,image/png,image/webp'

const MAX_BYTES = 20 * 1024 * 1024

/** How long an unused picture stays in memory. */
const KEPT_MS = 300_000

/**
 * isPicture reports whether a file is an image. If the server does not support its format, the upload is refused with
 * advice.
 */
export function isPicture(file: File): boolean {
  return file.type.startsWith('image/') || /\.(heic|heif|avif)$/i.test(file.name)
}

/** A retry of an upload has the same request id. */
const requestIds = new WeakMap<File, string>()

function requestIdOf(file: File): string {
  const known = requestIds.get(file) ?? crypto.randomUUID()
  requestIds.set(file, known)
  return known
}

/** pictureUploads are the pending uploads of pictures in this tab. */
export const pictureUploads = new UploadQueue<Picture>({
  send: (file, options) => uploadPicture(file, requestIdOf(file), options),
  onSent: () => {},
  lines: 1,
  refusalReason: ({ size }) => {
    if (size === 0) return texts.pictures.empty
    return size > MAX_BYTES ? texts.pictures.tooLarge : undefined
  },
})

/** addPictures uploads pictures for the question in a composer, up to the maximum. */
export function addPictures(key: string, files: readonly File[], had = 0): void {
  const uploading = pictureUploads.uploads.filter(({ to }) => to?.name === key).length
  const room = Math.max(0, MAX_PICTURES - had - readAttachments(key).pictures.length - uploading)
  pictureUploads.add(files.slice(0, room), {
    name: key,
    onSent: (picture) => attachPicture(key, picture),
  })
  if (files.length > room) toast(texts.pictures.tooMany(MAX_PICTURES, files.length - room))
}

/** cancelPictures cancels the uploads for a question. */
export function cancelPictures(key: string): void {
  for (const { id, to } of pictureUploads.uploads) if (to?.name === key) pictureUploads.remove(id)
}

function pictureQuery(id: string, size: 'thumbnail' | 'full') {
  return queryOptions({
    queryKey: ['picture', id, size],
    queryFn: ({ signal }) => call('showPicture', { picture_id: id, size, signal }),
    // Pictures are immutable.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  })
}

/** usePictureUrl returns a picture as an object URL; null until it is loaded. */
export function usePictureUrl(id: string, size: 'thumbnail' | 'full') {
  const { data, isError, refetch } = useQuery(pictureQuery(id, size), queryClient)
  return { url: useBlobUrl(data), failed: isError, blob: data, retry: () => void refetch() }
}

/** useBlobUrl returns an object URL of a blob and revokes it when the component unmounts. */
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
