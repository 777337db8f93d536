import type { DataSource } from './types'
import { type UploadOptions, uploadFile } from './upload'

/** The result of an upload. */
export interface Uploaded {
  readonly source: DataSource
  /** False if the same content existed already. `source` is then the existing data source. */
  readonly isNew: boolean
}

/** Uploads a file to be parsed: a file of a project, or one's own. */
export async function uploadDataSource(
  file: File,
  options: UploadOptions,
  projectId?: string,
): Promise<Uploaded> {
  const response = await uploadFile(
    'uploadDataSource',
    file,
    options,
    {},
    projectId ? { project_id: projectId } : {},
  )
  return { source: (await response.json()) as DataSource, isNew: response.status === 201 }
}
