import { Check } from 'lucide-react'
import type { Proofreading } from '@/lib/stream'
import { truncate } from '@/lib/ui/shorten'
import styles from './Proofread.module.css'
import { texts } from './texts'

/** NothingFound reports a proofreading without corrections and the number of characters that were checked. */
export function NothingFound({ proofread: { text, unchecked } }: { proofread: Proofreading }) {
  const checked = unchecked.reduce(
    (left, { start, end }) => left - lengthOf(text.slice(start, end)),
    lengthOf(text),
  )
  return (
    <div className={styles.none}>
      <Check size={36} aria-hidden />
      <p className={styles.noneTitle}>{unchecked.length > 0 ? texts.noneChecked : texts.none}</p>
      <p>{texts.checked(checked)}</p>
    </div>
  )
}

function lengthOf(text: string): number {
  return [...text].length
}

/** Notes reports the rejected proposals of the model and the parts of the text that could not be proofread. */
export function Notes({ proofread, note }: { proofread: Proofreading; note: string }) {
  const { text, dropped, unchecked } = proofread
  if (dropped === 0 && unchecked.length === 0 && note === '') return null
  return (
    <div className={styles.notes}>
      {unchecked.length > 0 && (
        <>
          <p>{texts.unchecked}</p>
          <ul>
            {unchecked.map(({ start, end }) => {
              const part = text.slice(start, end)
              return <li key={start}>{texts.range(beginningOf(part), lengthOf(part))}</li>
            })}
          </ul>
        </>
      )}
      {dropped > 0 && <p>{texts.dropped(dropped)}</p>}
      {note !== '' && <p>{note}</p>}
    </div>
  )
}

/** beginningOf returns the first words of a part, without line breaks. */
function beginningOf(part: string): string {
  return truncate(part.slice(0, 60).trim().replace(/\s+/g, ' '), 20)
}
