import { Fragment } from 'react'
import styles from './Snippet.module.css'

/** A line of a search result with the search terms marked. Ranges count characters, not UTF-16 units. */
export function Snippet({ text, ranges }: { text: string; ranges: readonly (readonly number[])[] }) {
  const characters = Array.from(text)
  const between = (from: number, to?: number) => characters.slice(from, to).join('')
  return (
    <>
      {ranges.map(([from = 0, to = 0], index) => (
        <Fragment key={from}>
          {between(ranges[index - 1]?.[1] ?? 0, from)}
          <mark className={styles.found}>{between(from, to)}</mark>
        </Fragment>
      ))}
      {between(ranges.at(-1)?.[1] ?? 0)}
    </>
  )
}
