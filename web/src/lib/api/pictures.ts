import type { Picture } from './types'
import { type UploadOptions, uploadFile } from './upload'

/** Uploads a picture for a question. A retry with the same request id uploads nothing. */
export async function uploadPicture(file: File, requestId: string, options: UploadOptions): Promise<Picture> {
  const response = await uploadFile('uploadPicture', file, options, { 'Idempotency-Key': requestId })
  return (await response.json()) as Picture
}
