import { asApiError, readProblem } from '@/lib/api'
import { session } from '@/lib/session'

/** Uploads a file as a data source and answers its id. */
export async function uploadFile(file: File): Promise<string> {
  const body = new FormData()
  body.set('file', file, file.name)
  let response: Response
  try {
    response = await session.fetch('/v1/data-source/file', { method: 'POST', body })
  } catch (cause) {
    throw asApiError(cause)
  }
  if (!response.ok) throw await readProblem(response)
  const { id } = (await response.json()) as { id: string }
  return id
}
