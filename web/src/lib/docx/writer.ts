import { strToU8, zipSync } from 'fflate'
import { treesOf } from '@/lib/markdown/trees'
import { Body } from './body'
import type { DocxPart } from './parts'
import { stylesXml } from './styles'
import { escapeXml } from './xml'

/*
 * The document is written here instead of with the library `docx`, which has more than 100 KB compressed and needs the
 * same conversion of the syntax tree.
 */

/** writeDocx returns the bytes of a Word document (ECMA-376): A4, with styles for every element. */
export async function writeDocx(title: string, parts: readonly DocxPart[]): Promise<Uint8Array<ArrayBuffer>> {
  const body = new Body()
  for (const part of parts) {
    if (part.kind === 'markdown') body.markdown(await treesOf(part.text), part.level)
    else if (part.kind === 'heading') body.heading(part.text, part.level)
    else body.plain(styleOf[part.kind], part.text)
  }
  const files = {
    '[Content_Types].xml': contentTypes,
    '_rels/.rels': relationships([
      ['rId1', `${office}/officeDocument`, 'word/document.xml'],
      ['rId2', `${packages}/relationships/metadata/core-properties`, 'docProps/core.xml'],
    ]),
    'docProps/core.xml': coreProperties(title),
    'word/document.xml': body.documentXml(),
    'word/numbering.xml': body.numberingXml(),
    'word/styles.xml': stylesXml,
    'word/settings.xml': settings,
    'word/_rels/document.xml.rels': relationships(
      [
        ['rIdStyles', `${office}/styles`, 'styles.xml'],
        ['rIdNumbering', `${office}/numbering`, 'numbering.xml'],
        ['rIdSettings', `${office}/settings`, 'settings.xml'],
      ],
      body.links.map((url, index) => [`rId${index + 1}`, `${office}/hyperlink`, url]),
    ),
  }
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, xml]) => [name, strToU8(head + xml)])))
}

const styleOf = { title: 'Title', note: 'Subtitle', quote: 'Quote', source: 'Source' } as const

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml'

const contentTypes = `<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${[
  ['word/document.xml', `${word}.document.main+xml`],
  ['word/styles.xml', `${word}.styles+xml`],
  ['word/numbering.xml', `${word}.numbering+xml`],
  ['word/settings.xml', `${word}.settings+xml`],
  ['docProps/core.xml', 'application/vnd.openxmlformats-package.core-properties+xml'],
]
  .map(([name, type]) => `<Override PartName="/${name}" ContentType="${type}"/>`)
  .join('')}</Types>`

type Relationship = readonly [id: string, type: string, target: string]

function relationships(inside: readonly Relationship[], outside: readonly Relationship[] = []): string {
  const write = (mode: string) => (relationship: Relationship) => {
    const [id, type, target] = relationship.map(escapeXml)
    return `<Relationship Id="${id}" Type="${type}" Target="${target}"${mode}/>`
  }
  const all = [...inside.map(write('')), ...outside.map(write(' TargetMode="External"'))]
  return `<Relationships xmlns="${packages}/relationships">${all.join('')}</Relationships>`
}

function coreProperties(title: string): string {
  const time = `${new Date().toISOString().slice(0, 19)}Z`
  return `<cp:coreProperties xmlns:cp="${packages}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>${escapeXml(title)}</dc:title><dcterms:created xsi:type="dcterms:W3CDTF">${time}</dcterms:created></cp:coreProperties>`
}

// Without a compatibility mode, Word opens the document as one of Word 2007.
const settings = `<w:settings xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:compat><w:compatSetting w:name="compatibilityMode" w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat><w:themeFontLang w:val="en-US" w:eastAsia="ja-JP"/></w:settings>`
