import type { ReactNode } from 'react'
import { Fragment } from 'react'
import type { Block, Column, Piece, Row, SheetRow } from './structure'
import styles from './TextView.module.css'
import { texts } from './texts'

/** Blocks renders blocks of text with React elements. It never interprets a file's text as HTML. */
export function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return blocks.map((block, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no id and never change their order.
    <Fragment key={at}>{draw(block)}</Fragment>
  ))
}

function draw(block: Block): ReactNode {
  switch (block.kind) {
    case 'heading':
      return (
        <p className={styles.heading} data-level={block.level} role="heading" aria-level={block.level + 2}>
          <Pieces pieces={block.pieces} rich />
        </p>
      )
    case 'item':
      return (
        <p className={styles.item} style={{ marginInlineStart: `${block.depth}em` }}>
          <span className={styles.bullet}>{/^\d/.test(block.bullet) ? block.bullet : '・'}</span>
          <span>
            <Pieces pieces={block.pieces} rich />
          </span>
        </p>
      )
    case 'table':
      return <Table head={block.head} rows={block.rows} />
    case 'sheet':
      return <Sheet columns={block.columns} rows={block.rows} />
    default:
      return (
        <p className={styles.paragraph}>
          <Pieces pieces={block.pieces} rich={block.rich} />
        </p>
      )
  }
}

/** Pieces renders pieces of a line. If `rich`, it renders inline Markdown. */
function Pieces({ pieces, rich = false }: { pieces: readonly Piece[]; rich?: boolean }) {
  return pieces.map(({ text, marked }, at) =>
    marked ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <mark key={at} className={styles.mark}>
        {rich ? inline(text) : text}
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <Fragment key={at}>{rich ? inline(text) : text}</Fragment>
    ),
  )
}

function Table({ head, rows }: { head: Row | null; rows: readonly Row[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
    <div className={styles.table} tabIndex={0}>
      <table>
        {head && (
          <thead>
            <tr data-marked={head.marked || undefined}>
              {head.cells.map((cell, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a column has no id.
                <th key={at} scope="col">
                  {inline(cell)}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map(({ cells, marked }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never change their order.
            <tr key={at} data-marked={marked || undefined}>
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <td key={column}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Sheet renders rows of a spreadsheet with column letters and row numbers. */
function Sheet({ columns, rows }: { columns: readonly Column[]; rows: readonly SheetRow[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
    <section className={`${styles.table} ${styles.sheet}`} tabIndex={0} aria-label={texts.sheet}>
      <table>
        <thead>
          <tr>
            <td />
            {columns.map(({ letter }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column may have no letter.
              <td key={at}>{letter}</td>
            ))}
          </tr>
          <tr>
            <td />
            {columns.map(({ name }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above.
              <th key={at} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ number, cells, marked }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never change their order.
            <tr key={at} data-marked={marked || undefined}>
              <th scope="row">{number}</th>
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const strong = /\*\*(.+?)\*\*/g
const link = /!?\[([^\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))+(?:\s+"[^"]*")?\)/g

/** inline renders a line of Markdown: bold text in bold, and of a link only its text. */
function inline(text: string): ReactNode {
  const parts = text.replaceAll(link, '$1').split(strong)
  // Parts at odd indexes were enclosed in `**`.
  // biome-ignore lint/suspicious/noArrayIndexKey: as above.
  return parts.map((part, at) => (at % 2 === 1 ? <strong key={at}>{part}</strong> : part))
}
