import { Check, CircleAlert } from 'lucide-react'
import styles from './Checks.module.css'

interface Result {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

interface Words {
  readonly checked: string
  readonly checks: Readonly<Record<string, string>>
  readonly ok: string
  readonly wrong: string
}

/** The results of a test of another service. */
export function Checks({ checks, words }: { checks: readonly Result[]; words: Words }) {
  return (
    <div className={styles.box} role="status" aria-label={words.checked}>
      <ul className={styles.checks}>
        {checks.map(({ name, ok, detail }) => {
          const Icon = ok ? Check : CircleAlert
          return (
            <li key={name} data-ok={ok}>
              <Icon size={16} aria-hidden />
              <div>
                <strong>{words.checks[name] ?? name}</strong>
                <span className="visually-hidden">{ok ? words.ok : words.wrong}</span>
                {detail !== '' && <p>{detail}</p>}
              </div>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
