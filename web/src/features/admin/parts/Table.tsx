import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { cx } from '@/lib/ui/cx'
import { common } from '../texts'
import table from './Table.module.css'

/** The heading of a column, with a class for its cell. */
type Column = string | { readonly label: string; readonly className: string | undefined }

export interface TableProps {
  /** The name of the table, which is not shown. */
  readonly caption?: string
  readonly columns: readonly Column[]
  /** Whether there is a last, narrow column with buttons. Its heading is not shown. */
  readonly actions?: boolean
  readonly className?: string | undefined
  readonly busy?: boolean
  /** The rows. */
  readonly children: ReactNode
}

/** Table is a table with a head. */
export function Table({ caption, columns, actions, className, busy, children }: TableProps) {
  return (
    <table className={cx(table.table, className)} aria-busy={busy}>
      {caption && <caption className="visually-hidden">{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) => {
            const { label, className = undefined } = typeof column === 'string' ? { label: column } : column
            return (
              <th key={label} scope="col" className={className}>
                {label}
              </th>
            )
          })}
          {actions && (
            <th scope="col" className={table.narrow}>
              <span className="visually-hidden">{common.actions}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

/** EndCell is the last cell of a row, with a button that ends or removes what `of` names. */
export function EndCell({ of, end, onEnd }: { of: string; end: string; onEnd: () => void }) {
  return (
    <td className={cx(table.narrow, table.end)}>
      <Button size="sm" variant="quietDanger" onClick={onEnd}>
        <span className="visually-hidden">{of}</span>
        {end}
      </Button>
    </td>
  )
}
