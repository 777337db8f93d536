import { useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { call, firstErrorMessage, type SamlConfig } from '@/lib/api'
import { toast, toastFailure } from '@/lib/ui/toast'
import { storeSaml } from '../queries'
import { texts } from '../texts'
import styles from './Saml.module.css'

const words = texts.saml

/** The status of single sign-on; super-admins test and switch it here. */
export function SamlStatus({ config, mayEdit }: { config: SamlConfig; mayEdit: boolean }) {
  const [asking, setAsking] = useState(false)
  const [starting, setStarting] = useState(false)
  const { enabled } = config
  const complete = config.idp_entity_id !== '' && config.idp_certificates.length > 0

  const test = async () => {
    setStarting(true)
    await startTest()
    setStarting(false)
  }
  return (
    <section className={styles.status} aria-label={words.status}>
      <div>
        <p className={styles.state} data-on={enabled || undefined}>
          {enabled ? words.on : words.off}
        </p>
        <p>{enabled ? words.onBody : words.offBody}</p>
        {mayEdit && !complete && <p className={styles.unset}>{words.incomplete}</p>}
      </div>
      {mayEdit && (
        <div className={styles.statusActions}>
          <Button disabled={!complete} loading={starting} onClick={() => void test()}>
            {starting ? words.testing : words.test}
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
      {asking && <SwitchDialog on={!enabled} onClose={() => setAsking(false)} />}
    </section>
  )
}

/** startTest redirects to the identity provider. The result is shown after the return. */
export async function startTest(): Promise<void> {
  try {
    const { url } = await call('testSAML')
    window.location.assign(url)
    // Never resolves, because the browser is leaving the page.
    await new Promise(() => {})
  } catch (cause) {
    toastFailure(firstErrorMessage(cause), () => void startTest())
  }
}

function SwitchDialog({ on, onClose }: { on: boolean; onClose: () => void }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const { title, items } = on ? words.turningOn : words.turningOff

  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      await storeSaml(await call(on ? 'turnSAMLOn' : 'turnSAMLOff'))
      toast(on ? words.turnedOn : words.turnedOff, { tone: 'success' })
      onClose()
    } catch (cause) {
      setError(cause)
      setBusy(false)
    }
  }
  return (
    <ConfirmDialog
      title={title}
      confirm={on ? words.turnOn : words.turnOff}
      danger={!on}
      busy={busy}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <ul className={styles.consequences}>
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
      <div role="alert">{error !== null && <FieldErrorText>{firstErrorMessage(error)}</FieldErrorText>}</div>
    </ConfirmDialog>
  )
}
