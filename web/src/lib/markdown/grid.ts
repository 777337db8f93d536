import type { Element, Nodes } from 'hast'

/** The texts of a table's cells, row by row. */
export function gridOf(table: Element): string[][] {
  return elementsNamed(table, /^tr$/).map((row) => elementsNamed(row, /^t[hd]$/).map(cellText))
}

/** toTsv returns tab-separated values for pasting into spreadsheets. A cell is one line. */
export function toTsv(grid: readonly string[][]): string {
  return grid.map((row) => row.map((cell) => guarded(cell.replace(/\s+/g, ' '))).join('\t')).join('\n')
}

/** toCsv returns CSV (RFC 4180) with a byte order mark. Without it, Excel would read Japanese as Shift_JIS. */
export function toCsv(grid: readonly string[][]): string {
  return `\ufeff${grid.map((row) => `${row.map((cell) => quoted(guarded(cell))).join(',')}\r\n`).join('')}`
}

export function cellText(node: Nodes): string {
  if (node.type === 'text' || node.type === 'raw') return node.value
  if (node.type !== 'element') return ''
  if (node.tagName === 'br') return '\n'
  // The value of a citation is its number.
  if (node.tagName === 'button') return `[${node.properties.value}]`
  return node.children.map(cellText).join('')
}

/**
 * isFormula reports whether a spreadsheet would evaluate the text as a formula. A model's text must not be evaluated
 * when the file is opened. -5 and +3.2% are numbers.
 */
export function isFormula(text: string): boolean {
  return /^\s*(?:[=@]|[+-](?![\d.,]+\s*%?\P{ASCII}*$))/u.test(text) && text.trim().length > 1
}

function guarded(cell: string): string {
  return isFormula(cell) ? `'${cell}` : cell
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

export function elementsNamed(parent: Element, name: RegExp): Element[] {
  return parent.children.flatMap((child) => {
    if (child.type !== 'element') return []
    return name.test(child.tagName) ? [child] : elementsNamed(child, name)
  })
}
