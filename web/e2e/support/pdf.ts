import type { Browser } from '@playwright/test'

/** A PDF as a browser prints it, with its fonts inside: a page of A4 for each text, a paragraph for each of its lines. */
export async function pdfOf(browser: Browser, pages: readonly string[]): Promise<Buffer> {
  const page = await browser.newPage()
  try {
    const paragraphs = (text: string) =>
      text
        .split('\n')
        .map((line) => (line.startsWith('# ') ? `<h1>${line.slice(2)}</h1>` : `<p>${line}</p>`))
        .join('')
    const style = 'section { break-after: page; font: 12pt/1.8 sans-serif } h1 { font-size: 16pt }'
    await page.setContent(
      `<style>${style}</style>${pages.map((text) => `<section>${paragraphs(text)}</section>`).join('')}`,
    )
    return await page.pdf({ format: 'A4' })
  } finally {
    await page.close()
  }
}
