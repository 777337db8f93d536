import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, firstErrorMessage, type OidcCheck, type OidcConfig } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { Checks } from '../parts/Checks'
import { samlQuery, storeOidc } from '../queries'
import { StatusSection } from '../saml/StatusSection'
import { oidc as words } from '../texts'

/** The status of OpenID Connect. */
export function OidcStatus({ config, mayEdit }: { config: OidcConfig; mayEdit: boolean }) {
  const { data: saml } = useQuery(samlQuery)
  const [checks, setChecks] = useState<readonly OidcCheck[]>()
  const { busy, run } = useTask()
  const { enabled } = config

  const test = async () => {
    await run(
      async () => {
        setChecks((await call('testOIDC')).checks)
      },
      (cause) => toastFailure(firstErrorMessage(cause), () => void test()),
    )
  }
  return (
    <StatusSection
      words={words}
      enabled={enabled}
      otherEnabled={saml?.enabled ?? false}
      complete={config.issuer !== '' && config.client_id !== ''}
      mayEdit={mayEdit}
      testing={busy}
      onTest={() => void test()}
      onSwitch={async () => storeOidc(await call(enabled ? 'turnOIDCOff' : 'turnOIDCOn'))}
    >
      {checks && <Checks checks={checks} words={words} />}
    </StatusSection>
  )
}
