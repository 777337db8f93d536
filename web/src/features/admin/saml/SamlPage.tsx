import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import type { SamlConfig } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { Notice } from '../parts/Page'
import { samlQuery } from '../queries'
import { saml as words } from '../texts'
import { lastDay, validityOf } from './certificates'
import { ProtocolPage } from './ProtocolPage'
import { Attributes, IdentityProvider, ServiceProvider, Steps } from './SamlFacts'
import { SamlStatus } from './SamlStatus'
import { TestResult } from './TestResult'

/** Single sign-on: its status, the values to enter on both sides, and the result of a test. */
export function SamlPage() {
  const query = useQuery(samlQuery)
  const [params] = useSearchParams()
  const testId = params.get('test')
  return (
    <ProtocolPage
      query={query}
      words={words}
      edit="/admin/saml/edit"
      heights={[96, 220, 180]}
      result={(mayEdit) => testId && <TestResult id={testId} mayTest={mayEdit} />}
    >
      {(config, mayEdit) => <Config config={config} mayEdit={mayEdit} />}
    </ProtocolPage>
  )
}

function Config({ config, mayEdit }: { config: SamlConfig; mayEdit: boolean }) {
  const end = lastDay(config)
  const validity = end === '' ? 'fine' : validityOf(end).kind
  return (
    <>
      {validity === 'expired' && <Notice level="danger">{words.warnings.expired}</Notice>}
      {validity === 'expiring' && <Notice level="warning">{words.warnings.expiring(formatFull(end))}</Notice>}
      {config.idp_metadata_error !== '' && (
        <Notice level="warning">{words.warnings.metadata(config.idp_metadata_error)}</Notice>
      )}
      <SamlStatus config={config} mayEdit={mayEdit} />
      {!config.enabled && mayEdit && <Steps steps={words.steps} />}
      <ServiceProvider config={config} />
      <IdentityProvider config={config} />
      <Attributes config={config} />
    </>
  )
}
