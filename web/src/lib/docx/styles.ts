/*
 * Measures are in twentieths of a point, font sizes in half points. The fonts are those of Word for Japanese; other
 * programs replace them.
 */

/** The width of the text on A4 between margins of 25 mm. */
export const textWidth = 11906 - 2 * 1418

/** The indentation of each level of lists and quotations. */
export const indentStep = 420

const sans = fonts('游ゴシック')
const mono = '<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:eastAsia="ＭＳ ゴシック" w:cs="Consolas"/>'
const grey = '<w:color w:val="6B6660"/>'
const shade = '<w:shd w:val="clear" w:color="auto" w:fill="F4F1EA"/>'

function fonts(name: string): string {
  return `<w:rFonts w:ascii="${name}" w:hAnsi="${name}" w:eastAsia="${name}"/>`
}

function style(
  type: 'paragraph' | 'character' | 'table',
  id: string,
  name: string,
  content: string,
  based = type === 'paragraph' && id !== 'Normal' ? 'Normal' : '',
): string {
  const standard = id === 'Normal' ? ' w:default="1"' : ''
  const parent = based && `<w:basedOn w:val="${based}"/>`
  return `<w:style w:type="${type}"${standard} w:styleId="${id}"><w:name w:val="${name}"/>${parent}<w:qFormat/>${content}</w:style>`
}

function spacing(before: number, after: number): string {
  return `<w:spacing w:before="${before}" w:after="${after}"/>`
}

const headings = [32, 28, 24, 22, 21, 21].map((size, index) =>
  style(
    'paragraph',
    `Heading${index + 1}`,
    `heading ${index + 1}`,
    `<w:next w:val="Normal"/><w:pPr><w:keepNext/><w:keepLines/>${spacing(index < 2 ? 360 : 240, 120)}<w:outlineLvl w:val="${index}"/></w:pPr><w:rPr>${sans}<w:b/><w:sz w:val="${size}"/></w:rPr>`,
  ),
)

const line = '<w:left w:val="single" w:sz="18" w:space="8" w:color="C9C2B6"/>'
const cells = ['top', 'left', 'bottom', 'right', 'insideH', 'insideV']
  .map((side) => `<w:${side} w:val="single" w:sz="4" w:space="0" w:color="8F887D"/>`)
  .join('')

/** The styles of every element. Those with Word's own names can be restyled by a theme. */
export const stylesXml = `<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:docDefaults><w:rPrDefault><w:rPr>${fonts('游明朝')}<w:sz w:val="21"/><w:lang w:val="en-US" w:eastAsia="ja-JP"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr>${spacing(0, 120)}</w:pPr></w:pPrDefault></w:docDefaults>${[
  style('paragraph', 'Normal', 'Normal', ''),
  style(
    'paragraph',
    'Title',
    'Title',
    `<w:pPr>${spacing(0, 60)}</w:pPr><w:rPr>${sans}<w:b/><w:sz w:val="40"/></w:rPr>`,
  ),
  style(
    'paragraph',
    'Subtitle',
    'Subtitle',
    `<w:pPr>${spacing(0, 360)}</w:pPr><w:rPr>${sans}${grey}<w:sz w:val="18"/></w:rPr>`,
  ),
  ...headings,
  style('paragraph', 'ListBullet', 'List Bullet', `<w:pPr>${spacing(0, 60)}</w:pPr>`),
  style('paragraph', 'ListNumber', 'List Number', `<w:pPr>${spacing(0, 60)}</w:pPr>`),
  style('paragraph', 'ListContinue', 'List Continue', `<w:pPr>${spacing(0, 60)}</w:pPr>`),
  style(
    'paragraph',
    'Quote',
    'Quote',
    `<w:pPr><w:pBdr>${line}</w:pBdr><w:ind w:left="${indentStep}"/></w:pPr><w:rPr><w:color w:val="4A4641"/></w:rPr>`,
  ),
  style(
    'paragraph',
    'Code',
    'Code',
    `<w:pPr>${shade}<w:spacing w:before="60" w:after="180" w:line="280" w:lineRule="exact"/></w:pPr><w:rPr>${mono}<w:sz w:val="18"/></w:rPr>`,
  ),
  style(
    'paragraph',
    'Rule',
    'Rule',
    `<w:pPr><w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="C9C2B6"/></w:pBdr>${spacing(0, 240)}</w:pPr>`,
  ),
  style(
    'paragraph',
    'TableText',
    'Table Text',
    `<w:pPr>${spacing(20, 20)}</w:pPr><w:rPr><w:sz w:val="20"/></w:rPr>`,
  ),
  style(
    'paragraph',
    'Source',
    'Source',
    `<w:pPr>${spacing(0, 40)}<w:ind w:left="${indentStep}" w:hanging="${indentStep}"/></w:pPr><w:rPr><w:sz w:val="18"/></w:rPr>`,
  ),
  style('character', 'InlineCode', 'Inline Code', `<w:rPr>${mono}<w:sz w:val="19"/>${shade}</w:rPr>`),
  style(
    'character',
    'Hyperlink',
    'Hyperlink',
    '<w:rPr><w:color w:val="1F4E79"/><w:u w:val="single"/></w:rPr>',
  ),
  style(
    'table',
    'TableGrid',
    'Table Grid',
    `<w:tblPr><w:tblBorders>${cells}</w:tblBorders></w:tblPr><w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr><w:tcPr>${shade}</w:tcPr></w:tblStylePr>`,
  ),
].join('')}</w:styles>`
