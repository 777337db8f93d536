import { TextField } from '@/components/Field'
import { period as words } from '../texts'
import type { UrlState } from '../urlState'
import styles from './Period.module.css'

/** The first and the last day of the list, stored in the URL. */
export function Period({ url }: { url: UrlState }) {
  return (
    <div className={styles.period} role="group" aria-label={words.label}>
      <Day url={url} name="from" max={url.get('to')} />
      <span aria-hidden>〜</span>
      <Day url={url} name="to" min={url.get('from')} />
    </div>
  )
}

interface DayProps {
  url: UrlState
  name: 'from' | 'to'
  min?: string
  max?: string
}

function Day({ url, name, min, max }: DayProps) {
  return (
    <TextField
      label={words[name]}
      hideLabel
      type="date"
      value={url.get(name)}
      min={min}
      max={max}
      onChange={(event) => url.set({ [name]: event.target.value })}
    />
  )
}
