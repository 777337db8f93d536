import * as word from 'docx'

/*
 * Measures are in twentieths of a point, font sizes in half points. The fonts are those of Word for Japanese; other
 * programs replace them. The library uses a font given as a name for East Asian characters too.
 */

/** A4 between margins of 25 mm. */
export const page = { width: 11906, height: 16838 }
export const margin = { top: 1418, right: 1418, bottom: 1418, left: 1418, header: 851, footer: 851 }
export const textWidth = page.width - margin.left - margin.right

/** The indentation of each level of lists and quotations. */
export const indentStep = 420

type Paragraph = word.IParagraphStylePropertiesOptions

const sans = '游ゴシック'
const mono = { ascii: 'Consolas', hAnsi: 'Consolas', eastAsia: 'ＭＳ ゴシック', cs: 'Consolas' }
const shading = { type: 'clear', color: 'auto', fill: 'F4F1EA' } as const
const line = { style: 'single', size: 18, space: 8, color: 'C9C2B6' } as const
const exactly = { line: 280, lineRule: 'exact' } as const

function spaced(before: number, after: number) {
  return { spacing: { before, after } }
}

function style(name: string, paragraph: Paragraph, run: word.IRunStylePropertiesOptions = {}) {
  const id = name.replace('heading', 'Heading').replace(' ', '')
  return { id, name, basedOn: 'Normal', quickFormat: true, paragraph, run }
}

const headings = [32, 28, 24, 22, 21, 21].map((size, outlineLevel) => {
  const around = spaced(outlineLevel < 2 ? 360 : 240, 120)
  const place = { keepNext: true, keepLines: true, ...around, outlineLevel }
  return { ...style(`heading ${outlineLevel + 1}`, place, { font: sans, bold: true, size }), next: 'Normal' }
})

const defaults = new word.DocumentDefaults({
  run: { font: '游明朝', size: 21, language: { value: 'en-US', eastAsia: 'ja-JP' } },
  paragraph: spaced(0, 120),
})

const sides = 'top left bottom right insideH insideV'.split(' ')
const border = 'w:val="single" w:sz="4" w:space="0" w:color="8F887D"'
const borders = sides.map((side) => `<w:${side} ${border}/>`).join('')

// The library has no options for the styles of tables.
const grid = word.ImportedXmlComponent.fromXmlString(
  `<w:style w:type="table" w:styleId="TableGrid"><w:name w:val="Table Grid"/><w:qFormat/><w:tblPr><w:tblBorders>${borders}</w:tblBorders></w:tblPr><w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr><w:tcPr><w:shd w:val="clear" w:color="auto" w:fill="${shading.fill}"/></w:tcPr></w:tblStylePr></w:style>`,
)

/** The styles of every element, instead of the library's own. Those with Word's names can be restyled by a theme. */
export const styles: word.IStylesOptions = {
  importedStyles: [defaults, grid],
  paragraphStyles: [
    style('Normal', {}),
    style('Title', spaced(0, 60), { font: sans, bold: true, size: 40 }),
    style('Subtitle', spaced(0, 360), { font: sans, color: '6B6660', size: 18 }),
    ...headings,
    style('List Bullet', spaced(0, 60)),
    style('List Number', spaced(0, 60)),
    style('List Continue', spaced(0, 60)),
    style('Quote', { border: { left: line }, indent: { left: indentStep } }, { color: '4A4641' }),
    style('Code', { shading, spacing: { before: 60, after: 180, ...exactly } }, { font: mono, size: 18 }),
    style('Rule', { border: { bottom: { ...line, size: 6, space: 1 } }, ...spaced(0, 240) }),
    style('Table Text', spaced(20, 20), { size: 20 }),
    style('Source', { ...spaced(0, 40), indent: { left: indentStep, hanging: indentStep } }, { size: 18 }),
  ],
  characterStyles: [
    { id: 'InlineCode', name: 'Inline Code', quickFormat: true, run: { font: mono, size: 19, shading } },
    { id: 'Hyperlink', name: 'Hyperlink', quickFormat: true, run: { color: '1F4E79', underline: {} } },
  ],
}
