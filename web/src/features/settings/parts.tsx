import type { ReactNode } from 'react'
import styles from './SessionsPage.module.css'

interface LineProps {
  readonly icon: ReactNode
  readonly name: ReactNode
  /** A label after the name. */
  readonly mark?: string | false | undefined
  readonly facts: readonly string[]
  /** The buttons at the end. */
  readonly children?: ReactNode
}

/** Line is a line of a list of the settings. */
export function Line({ icon, name, mark, facts, children }: LineProps) {
  return (
    <li className={styles.line}>
      {icon}
      <div className={styles.what}>
        <p className={styles.name}>
          {name}
          {mark && <span className={styles.current}>{mark}</span>}
        </p>
        {facts.map((fact) => (
          <p key={fact}>{fact}</p>
        ))}
      </div>
      {children}
    </li>
  )
}

/** Outcome shows the result of connecting a service, after the redirect from it. */
export function Outcome({ failed, done }: { failed: string | false; done: string | false }) {
  if (failed)
    return (
      <p className={styles.failed} role="alert">
        {failed}
      </p>
    )
  return (
    done && (
      <p className={styles.done} role="status">
        {done}
      </p>
    )
  )
}
