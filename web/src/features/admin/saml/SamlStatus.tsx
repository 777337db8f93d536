import { useQuery } from '@tanstack/react-query'
import { call, firstErrorMessage, type SamlConfig } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { oidcQuery, storeSaml } from '../queries'
import { saml } from '../texts'
import { StatusSection } from './StatusSection'

/** The status of SAML. */
export function SamlStatus({ config, mayEdit }: { config: SamlConfig; mayEdit: boolean }) {
  const { busy, start } = useSignInTest()
  const { data: oidc } = useQuery(oidcQuery)
  const { enabled } = config
  return (
    <StatusSection
      words={saml}
      enabled={enabled}
      otherEnabled={oidc?.enabled ?? false}
      complete={config.idp_entity_id !== '' && config.idp_certificates.length > 0}
      mayEdit={mayEdit}
      testing={busy}
      onTest={start}
      onSwitch={async () => storeSaml(await call(enabled ? 'turnSAMLOff' : 'turnSAMLOn'))}
    />
  )
}

/** useSignInTest redirects to the identity provider. The result is shown after the return. */
export function useSignInTest() {
  const { busy, run } = useTask()
  const start = (): void =>
    void run(
      async () => {
        const { url } = await call('testSAML')
        window.location.assign(url)
        // The browser is leaving the page, and shows it as it was when the user goes back.
        await new Promise((resolve) => window.addEventListener('pageshow', resolve, { once: true }))
      },
      (cause) => toastFailure(firstErrorMessage(cause), start),
    )
  return { busy, start }
}
