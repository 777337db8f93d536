import { sessionFetch } from './session'
import { t } from './texts'

/** The text of a PDF file, read by the server. */
export interface PageText {
  readonly text: string
  readonly truncated_characters: number
  readonly page_count: number
}

/** The server does not read a file; the message is for people. */
export class FileRefused extends Error {
  override name = 'FileRefused'
}

/** Has the server read a PDF file, which it does not keep. */
export async function readPageFile(file: Blob): Promise<PageText> {
  const form = new FormData()
  form.append('file', file, 'page.pdf')
  const response = await sessionFetch('/external/chrome_extension/v1/page/file', {
    method: 'POST',
    body: form,
  })
  const answer = (await response.json().catch(() => ({}))) as Partial<PageText> & { detail?: string }
  if (!response.ok || typeof answer.text !== 'string') throw new FileRefused(answer.detail ?? t('pdfFailed'))
  return answer as PageText
}
