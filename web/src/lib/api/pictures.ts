import { signed, take } from './http'
import type { Picture } from './types'
import { type UploadOptions, uploadFile } from './upload'

/** Uploads a picture for a question. A retry with the same request id uploads nothing. */
export async function uploadPicture(file: File, requestId: string, options: UploadOptions): Promise<Picture> {
  const response = await uploadFile('/v1/picture', file, options, { 'Idempotency-Key': requestId })
  return (await response.json()) as Picture
}

/** A picture; a thumbnail is at most 400 pixels wide and high. */
export async function getPicture(
  pictureId: string,
  size: 'thumbnail' | 'full',
  signal?: AbortSignal,
): Promise<Blob> {
  const params = { path: { picture_id: pictureId }, query: { size } }
  const picture = await take(
    signed.GET('/v1/picture/{picture_id}', { params, parseAs: 'blob', signal: signal ?? null }),
  )
  return picture as unknown as Blob
}

/** Deletes a picture that no question uses. */
export async function deletePicture(pictureId: string): Promise<void> {
  const params = { path: { picture_id: pictureId } }
  await take(signed.DELETE('/v1/picture/{picture_id}', { params, keepalive: true }))
}
