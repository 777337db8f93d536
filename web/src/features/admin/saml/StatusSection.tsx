import { type ReactNode, useState } from 'react'
import { Button } from '@/components/Button'
import styles from './Saml.module.css'
import { SwitchDialog, type SwitchWords } from './SwitchDialog'

interface Words extends SwitchWords {
  readonly status: string
  readonly on: string
  readonly off: string
  readonly onBody: string
  readonly offBody: string
  readonly otherBody: string
  readonly incomplete: string
  readonly test: string
  readonly testing: string
}

interface Props {
  words: Words
  enabled: boolean
  /** Whether members sign in by another protocol while this one is off. */
  otherEnabled: boolean
  /** Whether the settings are complete. */
  complete: boolean
  mayEdit: boolean
  testing: boolean
  onTest: () => void
  /** Switches the protocol on, or off if it is on. */
  onSwitch: () => Promise<void>
  /** The results of a test. */
  children?: ReactNode
}

/** The status of a protocol for single sign-on; super-admins test and switch it here. */
export function StatusSection({
  words,
  enabled,
  otherEnabled,
  complete,
  mayEdit,
  testing,
  onTest,
  onSwitch,
  children,
}: Props) {
  const [asking, setAsking] = useState(false)
  const offBody = otherEnabled ? words.otherBody : words.offBody
  return (
    <section className={styles.status} aria-label={words.status}>
      <div>
        <p className={styles.state} data-on={enabled || undefined}>
          {enabled ? words.on : words.off}
        </p>
        <p>{enabled ? words.onBody : offBody}</p>
        {mayEdit && !complete && <p className={styles.unset}>{words.incomplete}</p>}
      </div>
      {mayEdit && (
        <div className={styles.statusActions}>
          <Button disabled={!complete} loading={testing} onClick={onTest}>
            {testing ? words.testing : words.test}
          </Button>
          <Button
            variant={enabled ? 'secondary' : 'primary'}
            disabled={!enabled && !complete}
            onClick={() => setAsking(true)}
          >
            {enabled ? words.turnOff : words.turnOn}
          </Button>
        </div>
      )}
      {children}
      {asking && (
        <SwitchDialog on={!enabled} words={words} submit={onSwitch} onClose={() => setAsking(false)} />
      )}
    </section>
  )
}
