import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, firstErrorMessage, type SamlConfig } from '@/lib/api'
import { toastFailure } from '@/lib/ui/toast'
import { oidcQuery, storeSaml } from '../queries'
import { saml } from '../texts'
import { StatusSection } from './StatusSection'

/** The status of SAML. */
export function SamlStatus({ config, mayEdit }: { config: SamlConfig; mayEdit: boolean }) {
  const [starting, setStarting] = useState(false)
  const { data: oidc } = useQuery(oidcQuery)
  const { enabled } = config

  const test = async () => {
    setStarting(true)
    await startTest()
    setStarting(false)
  }
  return (
    <StatusSection
      words={saml}
      enabled={enabled}
      otherEnabled={oidc?.enabled ?? false}
      complete={config.idp_entity_id !== '' && config.idp_certificates.length > 0}
      mayEdit={mayEdit}
      testing={starting}
      onTest={() => void test()}
      onSwitch={async () => storeSaml(await call(enabled ? 'turnSAMLOff' : 'turnSAMLOn'))}
    />
  )
}

/** startTest redirects to the identity provider. The result is shown after the return. */
export async function startTest(): Promise<void> {
  try {
    const { url } = await call('testSAML')
    window.location.assign(url)
    // The browser is leaving the page, and shows it as it was when the user goes back.
    await new Promise((resolve) => window.addEventListener('pageshow', resolve, { once: true }))
  } catch (cause) {
    toastFailure(firstErrorMessage(cause), () => void startTest())
  }
}
