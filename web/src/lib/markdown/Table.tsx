import type { Element } from 'hast'
import type { ReactNode } from 'react'
import { copyRich } from '@/lib/browser/clipboard'
import { cx } from '@/lib/ui/cx'
import { gridOf, toCsv, toTsv } from './grid'
import styles from './markdown.module.css'
import { texts } from './texts'
import { CopyButton, SaveButton } from './tools'
import tools from './tools.module.css'

interface TableProps {
  readonly node: Element | undefined
  readonly growing: boolean
  readonly children: ReactNode
}

/** A table in a scrolling box. It is copied as a table for Word and Excel, and as TSV for other programs. */
export function Table({ node, growing, children }: TableProps) {
  const copy = (table: Element) =>
    copyRich(
      toTsv(gridOf(table)),
      import('./html').then(({ tableHtml }) => tableHtml(table)),
    )
  return (
    <div className={styles.tableBox}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
      <div className={styles.table} tabIndex={0} role="group" aria-label={texts.table}>
        <table>{children}</table>
      </div>
      {node && !growing && (
        <div className={cx(tools.tools, styles.tableTools)} data-print="hide">
          <CopyButton label={texts.copyTable} copy={() => copy(node)} />
          <SaveButton
            label={texts.saveTable}
            text={texts.csv}
            file={{ name: `${texts.table}.csv`, type: 'text/csv', body: () => toCsv(gridOf(node)) }}
          />
        </div>
      )}
    </div>
  )
}
