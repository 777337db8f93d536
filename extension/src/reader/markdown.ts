import TurndownService from 'turndown'

/** Elements that only group the blocks of a page. */
const groups = new Set(['BODY', 'MAIN', 'ARTICLE', 'SECTION', 'DIV'])

/** Blocks after which a text may be divided. */
const separate = new Set(['P', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'UL', 'OL', 'TABLE', 'PRE'])

/** The number of blocks that Turndown converts at once, because its time grows with the square of their number. */
const blocksAtOnce = 50

/** toMarkdown returns an element as Markdown: headings, lists, code and tables, the text of links and pictures. */
export function toMarkdown(root: Element): string {
  const service = turndown()
  const parts: string[] = []
  let pending = document.createElement('div')
  const flush = () => {
    if (pending.hasChildNodes()) parts.push(service.turndown(pending))
    pending = document.createElement('div')
  }
  const add = (parent: Element) => {
    for (const node of parent.childNodes) {
      if (groups.has(node.nodeName)) {
        flush()
        add(node as Element)
        flush()
        continue
      }
      pending.append(node.cloneNode(true))
      if (pending.childNodes.length >= blocksAtOnce && separate.has(node.nodeName)) flush()
    }
  }
  add(root)
  flush()
  return parts
    .filter((part) => part !== '')
    .join('\n\n')
    .replace(/[ \t\u00a0]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function turndown(): TurndownService {
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
      return words === '' ? '' : `（画像：${words}）`
    },
  })
  // URLs take many characters and tell the model little.
  service.addRule('link', { filter: 'a', replacement: (content) => content })
  service.addRule('table', {
    filter: (node) => node.nodeName === 'TABLE' && isData(node as HTMLTableElement),
    replacement: (_, node) => `\n\n${tableOf(node as HTMLTableElement)}\n\n`,
  })
  return service
}

/** isData reports whether a table has data rather than the layout of the page. */
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
