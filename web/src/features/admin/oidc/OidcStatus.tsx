import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { call, firstErrorMessage, type OidcCheck, type OidcConfig } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { Checks } from '../parts/Checks'
import { samlQuery, storeOidc } from '../queries'
import styles from '../saml/Saml.module.css'
import { SwitchDialog } from '../saml/SwitchDialog'
import { texts } from '../texts'

const words = texts.oidc

/** The status of OpenID Connect; super-admins test and switch it here. */
export function OidcStatus({ config, mayEdit }: { config: OidcConfig; mayEdit: boolean }) {
  const { data: saml } = useQuery(samlQuery)
  const [asking, setAsking] = useState(false)
  const [checks, setChecks] = useState<readonly OidcCheck[]>()
  const { busy, run } = useTask()
  const { enabled } = config
  const complete = config.issuer !== '' && config.client_id !== ''
  const offBody = saml?.enabled ? words.otherBody : words.offBody

  const test = async () => {
    await run(
      async () => {
        setChecks((await call('testOIDC')).checks)
      },
      (cause) => toastFailure(firstErrorMessage(cause), () => void test()),
    )
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
          <Button disabled={!complete} loading={busy} onClick={() => void test()}>
            {busy ? words.testing : words.test}
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
      {checks && <Checks checks={checks} words={words} />}
      {asking && (
        <SwitchDialog
          on={!enabled}
          words={words}
          submit={async () => storeOidc(await call(enabled ? 'turnOIDCOff' : 'turnOIDCOn'))}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  )
}
