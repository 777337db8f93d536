import type { PageText } from '@/lib/api'
import { sessionFetch } from './session'
import { t } from './texts'

/** Refused reports that a file or a selection cannot be used. The message is for the user. */
export class Refused extends Error {
  override name = 'Refused'
}

/** readPageFile sends a PDF file to the server, which extracts the text and does not store the file. */
export async function readPageFile(file: Blob): Promise<PageText> {
  const form = new FormData()
  form.append('file', file, 'page.pdf')
  const response = await sessionFetch('/external/chrome_extension/v1/page/file', {
    method: 'POST',
    body: form,
  })
  const answer = (await response.json().catch(() => ({}))) as Partial<PageText> & { detail?: string }
  if (!response.ok || typeof answer.text !== 'string') throw new Refused(answer.detail ?? t('pdfFailed'))
  return answer as PageText
}
