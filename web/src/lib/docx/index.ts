import type { DocxPart } from './parts'

export type { DocxPart } from './parts'

export const docxType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

/** toDocx returns a Word document. Its code and the library are loaded on the first call. */
export async function toDocx(title: string, parts: readonly DocxPart[]): Promise<Blob> {
  const { writeDocx } = await import('./writer')
  return writeDocx(title, parts)
}
