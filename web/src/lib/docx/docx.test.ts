import { strFromU8, unzipSync } from 'fflate'
import mammoth from 'mammoth'
import { describe, expect, it } from 'vitest'
import { type DocxPart, toDocx } from '.'

const styles = { styleMap: ["p[style-name='Code'] => pre", "p[style-name='Quote'] => blockquote > p:fresh"] }

async function bytesOf(parts: readonly DocxPart[], title = '報告'): Promise<Uint8Array> {
  return new Uint8Array(await (await toDocx(title, parts)).arrayBuffer())
}

/** Reads a Markdown text back from Word with an independent library, as HTML. */
async function read(text: string): Promise<string> {
  const bytes = await bytesOf([{ kind: 'markdown', level: 1, text }])
  const { value, messages } = await mammoth.convertToHtml({ buffer: Buffer.from(bytes) }, styles)
  expect(
    messages.filter(({ message }) => !/Unrecognised paragraph style|did not understand/.test(message)),
  ).toEqual([])
  return value
}

async function documentOf(text: string): Promise<string> {
  const files = unzipSync(await bytesOf([{ kind: 'markdown', level: 1, text }]))
  return strFromU8(files['word/document.xml'] ?? new Uint8Array())
}

describe('a document for Word, read back by mammoth', () => {
  it.each([
    ['## 大\n\n#### 小\n\n## 大', '<h1>大</h1><h2>小</h2><h1>大</h1>'],
    [
      '**太字**と*強調*と*italic*と~~取消~~',
      '<strong>太字</strong>と<strong>強調</strong>と<em>italic</em>と<s>取消</s>',
    ],
    ['- 一\n  - 二\n- 三', '<ul><li>一<ul><li>二</li></ul></li><li>三</li></ul>'],
    ['1. 一\n\n   続き\n2. 二', '<ol><li>一</li></ol><p>続き</p><ol><li>二</li></ol>'],
    ['- [x] 済\n- [ ] 未', '<p>☑ 済</p><p>☐ 未</p>'],
    ['> 引用\n> 二行目\n>\n> 次', '<blockquote><p>引用<br />二行目</p><p>次</p></blockquote>'],
    ['```js\nif (a < b) {\n\tc()\n}\n```', '<pre>if (a &lt; b) {<br />\tc()<br />}</pre>'],
    ['[規程](https://example.com/?a=1&b=2)', '<p><a href="https://example.com/?a=1&amp;b=2">規程</a></p>'],
    ['[規程](https://[x/規程)', '<p>規程</p>'],
    ['値[1]です[^a]。\n\n[^a]: 注', '<p>値[1]です<sup>1</sup>。</p><p><sup>1</sup>注</p>'],
    ['<ruby>紡<rt>つむぎ</rt></ruby>とH<sub>2</sub>O', '<p>紡（つむぎ）とH<sub>2</sub>O</p>'],
  ])('%j', async (text, expected) => {
    expect(await read(text)).toContain(expected)
  })

  it('has tables with a header row that repeats, and alignment', async () => {
    const text = '| 品番 | 数 |\n| --- | ---: |\n| **A** | 3 |'
    expect(await read(text)).toContain(
      '<thead><tr><th><p><strong>品番</strong></p></th><th><p><strong>数</strong></p></th></tr></thead><tbody><tr><td><p><strong>A</strong></p></td><td><p>3</p></td></tr></tbody>',
    )
    expect(await documentOf(text)).toContain('<w:jc w:val="right"/>')
  })

  it('numbers each ordered list from its own first number', async () => {
    const files = unzipSync(
      await bytesOf([{ kind: 'markdown', level: 1, text: '3. 三\n\nと\n\n1. 一\n2. 二' }]),
    )
    const xml = (name: string) => strFromU8(files[`word/${name}.xml`] ?? new Uint8Array())
    const ids = [...xml('document').matchAll(/w:numId w:val="(\d+)"/g)].map(([, id]) => id)
    const starts = ids.map(
      (id) => new RegExp(`w:numId="${id}".*?w:startOverride w:val="(\\d)"`).exec(xml('numbering'))?.[1],
    )
    expect(starts).toEqual(['3', '1', '1'])
    expect(new Set(ids).size).toBe(2)
  })

  it('keeps text that looks like a placeholder of the library', async () => {
    const text = '- {bullets-0} CURRENT {default-bullet-numbering-0}'
    expect(await read(text)).toBe('<ul><li>{bullets-0} CURRENT {default-bullet-numbering-0}</li></ul>')
    expect(await read('CURRENT')).toBe('<p>CURRENT</p>')
  })

  it('names no author, and a Japanese font for East Asian characters', async () => {
    const files = unzipSync(await bytesOf([]))
    expect(strFromU8(files['docProps/core.xml'] ?? new Uint8Array())).not.toMatch(/creator|lastModifiedBy/)
    const fonts = '<w:rFonts w:ascii="游明朝" w:cs="游明朝" w:eastAsia="游明朝" w:hAnsi="游明朝"/>'
    expect(strFromU8(files['word/styles.xml'] ?? new Uint8Array())).toContain(fonts)
  })

  it('has formulas that Word can edit, and an invalid one as typed', async () => {
    const xml = await documentOf(
      '$x^2$と$\\frac{a}{b}$、$\\sqrt[3]{x}$、$\\hat{y}$、$x_i^2$\n\n$$\\sum_{i=1}^{n} a_i \\quad \\lim_{x \\to 0} \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$$\n\n$\\frac{$',
    )
    for (const part of ['sSup', 'f', 'rad', 'acc', 'sSubSup', 'nary', 'limLow', 'd', 'm']) {
      expect(xml).toContain(`<m:${part}>`)
    }
    expect(xml).toContain('<m:t>x</m:t>')
    expect(xml).toContain('<m:oMathPara><m:oMath>')
    expect(xml).toContain('\\frac{')
    expect(new DOMParser().parseFromString(xml, 'application/xml').querySelector('parsererror')).toBeNull()
  })

  it('has a title, questions and sources, and no characters that XML forbids', async () => {
    const bytes = await bytesOf([
      { kind: 'title', text: 'A&B\u0001\uffff' },
      { kind: 'heading', level: 1, text: '質問' },
      { kind: 'quote', text: '*そのまま*\n二行目' },
      { kind: 'markdown', level: 2, text: '# 見出し\u0002' },
      { kind: 'source', text: '[1] 規程 https://example.com/a?b=1' },
    ])
    const { value } = await mammoth.convertToHtml({ buffer: Buffer.from(bytes) }, styles)
    expect(value).toContain(
      '<p>A&amp;B</p><h1>質問</h1><blockquote><p>*そのまま*<br />二行目</p></blockquote><h2>見出し</h2>',
    )
    expect(value).toContain('<a href="https://example.com/a?b=1">')
    expect(strFromU8(unzipSync(bytes)['docProps/core.xml'] ?? new Uint8Array())).toContain(
      '<dc:title>報告</dc:title>',
    )
  })
})
