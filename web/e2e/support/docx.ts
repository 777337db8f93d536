import { readFile } from 'node:fs/promises'
import type { Download, Page } from '@playwright/test'
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'

const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const package_ = 'http://schemas.openxmlformats.org/package/2006'

/** A small Word file with one paragraph per line. */
export function docx(text: string): Buffer {
  const paragraphs = text.split('\n').map((line) => `<w:p><w:r><w:t>${line}</w:t></w:r></w:p>`)
  const main = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
  const parts = {
    '[Content_Types].xml': `${head}<Types xmlns="${package_}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="${main}"/></Types>`,
    '_rels/.rels': `${head}<Relationships xmlns="${package_}/relationships"><Relationship Id="r1" Type="${office}" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `${head}<w:document xmlns:w="${word}"><w:body>${paragraphs.join('')}</w:body></w:document>`,
  }
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, strToU8(xml)]))),
  )
}

/** The text of a Word file and its tracked changes. */
interface Tracked {
  readonly name: string
  readonly deleted: readonly string[]
  readonly inserted: readonly string[]
  /** The text with all changes accepted, one paragraph per line. */
  readonly text: string
}

/** Saves a proofread text for Word and reads the saved file. */
export async function savedDocx(page: Page, how: '変更履歴つき' | '反映済み'): Promise<Tracked> {
  await page.getByRole('button', { name: 'Wordで保存' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: how }).click()
  return readDocx(await downloading)
}

async function readDocx(download: Download): Promise<Tracked> {
  const parts = unzipSync(await readFile(await download.path()))
  const document = strFromU8(parts['word/document.xml'] ?? new Uint8Array())
  const xml = document.replace(/<w:p( [^>]*)?\/>/g, '<w:p></w:p>')
  const all = (part: string, tag: string) =>
    [...part.matchAll(new RegExp(`<w:${tag}(?: [^>]*)?>(.*?)</w:${tag}>`, 'gs'))].map(
      (match) => match[1] ?? '',
    )
  const runs = (part: string, tag: 't' | 'delText') => all(part, tag).join('')
  return {
    name: download.suggestedFilename(),
    deleted: all(xml, 'del').map((part) => runs(part, 'delText')),
    inserted: all(xml, 'ins').map((part) => runs(part, 't')),
    text: all(xml, 'p')
      .map((paragraph) => runs(paragraph, 't'))
      .join('\n'),
  }
}
