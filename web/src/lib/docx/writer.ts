import * as word from 'docx'
import { treesOf } from '@/lib/markdown/trees'
import { Body, printable } from './body'
import type { DocxPart } from './parts'
import { margin, page, styles } from './styles'

const styleOf = { title: 'Title', note: 'Subtitle', quote: 'Quote', source: 'Source' } as const

/** writeDocx returns a Word document: A4, with styles for every element. */
export async function writeDocx(title: string, parts: readonly DocxPart[]): Promise<Blob> {
  const body = new Body()
  for (const part of parts) {
    if (part.kind === 'markdown') {
      const trees = await treesOf(part.text)
      // It includes KaTeX, so it is loaded only for a text with formulas.
      const toMath = trees.some(({ math }) => math) ? (await import('./formula')).toMath : () => null
      body.markdown(trees, part.level, toMath)
    } else body.plain(part.kind === 'heading' ? `Heading${part.level}` : styleOf[part.kind], part.text)
  }
  const sections = [{ properties: { page: { size: page, margin } }, children: body.blocks }]
  // Without empty names, the library writes the author "Un-named".
  const names = { creator: '', lastModifiedBy: '' }
  return word.Packer.toBlob(new word.Document({ title: printable(title), ...names, styles, sections }))
}
