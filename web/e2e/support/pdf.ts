import type { Browser } from '@playwright/test'

/** The ink of the section that the tests search for. */
const red = '#c00000'

const layouts = {
  横書き: '',
  縦書き: 'writing-mode: vertical-rl; height: 150mm;',
  二段組み: 'columns: 2; column-gap: 8mm;',
} as const

/** The direction and columns of a PDF. */
export type Layout = keyof typeof layouts

const filler = '社員は、会社の定める手続きに従い、所属長の承認を受けて業務にあたらなければならない。'

/** Returns rules of an office in sections. The section with the words `target` is printed in red. */
export function rules(layout: Layout, target: string): string {
  const sections = ['第一条　目的', '第二条　適用範囲', '第三条　特別休暇', '第四条　服務', '第五条　附則']
  const body = sections
    .map((title, at) => {
      const wanted = at === 2
      const text = (wanted ? target : filler).repeat(wanted ? 1 : 3)
      return `<section${wanted ? ` style="color: ${red}"` : ''}><h2>${title}</h2><p>${text}</p></section>`
    })
    .join('')
  return `<style>
    body { margin: 0; font: 11pt/1.9 "Noto Sans CJK JP", sans-serif; ${layouts[layout]} }
    h2 { font-size: 12pt; margin: 0 0 2mm; }
    p { margin: 0 0 4mm; }
    section { break-inside: avoid; }
  </style>${body}`
}

/** Prints HTML as a PDF with embedded fonts. Each part begins on a new page. */
export async function print(
  browser: Browser,
  parts: readonly string[],
  format: 'A4' | 'A5' = 'A5',
): Promise<Buffer> {
  const page = await browser.newPage()
  try {
    const apart = parts.map((html) => `<div style="break-after: page">${html}</div>`).join('')
    await page.setContent(parts.length === 1 ? (parts[0] ?? '') : apart)
    const margin = { top: '15mm', bottom: '15mm', left: '15mm', right: '15mm' }
    return await page.pdf({ format, margin })
  } finally {
    await page.close()
  }
}

/** Prints texts as a PDF: one page per text, one paragraph per line. Lines that begin with # are headings. */
export function pdfOf(browser: Browser, texts: readonly string[]): Promise<Buffer> {
  const paragraph = (line: string) => (line.startsWith('# ') ? `<h1>${line.slice(2)}</h1>` : `<p>${line}</p>`)
  return print(
    browser,
    texts.map((text) => text.split('\n').map(paragraph).join('')),
    'A4',
  )
}
