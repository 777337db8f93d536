import TurndownService from 'turndown'

/** HTML as Markdown: headings, lists, links, code and tables; pictures by their words. */
export function toMarkdown(root: Element | string): string {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
    hr: '---',
  })
  service.addRule('picture', {
    filter: 'img',
    replacement: (_, node) => {
      const words = (node as Element).getAttribute('alt')?.trim() ?? ''
      return words === '' ? '' : `（画像: ${words}）`
    },
  })
  // Addresses cost many characters and say little; what a link is called is what a person reads.
  service.addRule('link', { filter: 'a', replacement: (content) => content })
  service.addRule('table', {
    filter: (node) => node.nodeName === 'TABLE' && isData(node as HTMLTableElement),
    replacement: (_, node) => `\n\n${tableOf(node as HTMLTableElement)}\n\n`,
  })
  return service
    .turndown(root as HTMLElement)
    .replace(/[ \t\u00a0]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** Whether a table is one of data, and not one that lays the page out. */
function isData(table: HTMLTableElement): boolean {
  return (
    table.querySelector('table') === null &&
    Math.max(...[...table.rows].map((row) => row.cells.length), 0) > 1
  )
}

function tableOf(table: HTMLTableElement): string {
  const rows = [...table.rows].map((row) =>
    [...row.cells].flatMap((cell) => {
      const words = (cell.textContent ?? '').replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')
      return [words, ...Array.from({ length: Math.min(cell.colSpan, 20) - 1 }, () => '')]
    }),
  )
  const width = Math.max(...rows.map((row) => row.length))
  const line = (cells: string[]) =>
    `| ${Array.from({ length: width }, (_, at) => cells[at] ?? '').join(' | ')} |`
  const [head = [], ...rest] = rows
  const caption = table.caption?.textContent?.trim()
  return [
    ...(caption ? [caption, ''] : []),
    line(head),
    line(Array.from({ length: width }, () => '---')),
    ...rest.map(line),
  ].join('\n')
}
