import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { call, firstErrorMessage, type SamlConfig } from '@/lib/api'
import { toastFailure } from '@/lib/ui/toast'
import { oidcQuery, storeSaml } from '../queries'
import { texts } from '../texts'
import styles from './Saml.module.css'
import { SwitchDialog } from './SwitchDialog'

const words = texts.saml

/** The status of single sign-on; super-admins test and switch it here. */
export function SamlStatus({ config, mayEdit }: { config: SamlConfig; mayEdit: boolean }) {
  const [asking, setAsking] = useState(false)
  const [starting, setStarting] = useState(false)
  const { data: oidc } = useQuery(oidcQuery)
  const { enabled } = config
  const offBody = oidc?.enabled ? words.otherBody : words.offBody
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
        <p>{enabled ? words.onBody : offBody}</p>
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
      {asking && (
        <SwitchDialog
          on={!enabled}
          words={words}
          submit={async () => storeSaml(await call(enabled ? 'turnSAMLOff' : 'turnSAMLOn'))}
          onClose={() => setAsking(false)}
        />
      )}
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
