import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Pencil } from 'lucide-react'
import { useSearchParams } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { Loaded } from '@/components/States'
import type { SamlConfig } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatFull } from '@/lib/ui/dates'
import { BoxesLoading } from '../parts/Loading'
import { Notice, Page } from '../parts/Page'
import { samlQuery } from '../queries'
import { saml as words } from '../texts'
import { AddressRangesSection } from './AddressRanges'
import { lastDay, validityOf } from './certificates'
import { FactorPolicySection } from './FactorPolicy'
import { Protocols } from './Protocols'
import styles from './Saml.module.css'
import { Attributes, IdentityProvider, ServiceProvider, Steps } from './SamlFacts'
import { SamlStatus } from './SamlStatus'
import { SessionLimitsSection } from './SessionLimits'
import { TestResult } from './TestResult'

/** Single sign-on: its status, the values to enter on both sides, and the result of a test. */
export function SamlPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const query = useQuery(samlQuery)
  const [params] = useSearchParams()
  const testId = params.get('test')
  const mayEdit = me.role === 'organization-super-admin'
  return (
    <Page
      title={words.title}
      lead={mayEdit ? undefined : words.readOnly}
      actions={
        mayEdit && (
          <ButtonLink to="/admin/saml/edit">
            <Pencil size={16} aria-hidden />
            {words.edit}
          </ButtonLink>
        )
      }
    >
      <Protocols />
      {testId && <TestResult id={testId} mayTest={mayEdit} />}
      <Loaded query={query} loading={<BoxesLoading heights={[96, 220, 180]} />}>
        {(config) => <Config config={config} mayEdit={mayEdit} />}
      </Loaded>
      <SessionLimitsSection mayEdit={mayEdit} />
      <FactorPolicySection mayEdit={mayEdit} />
      <AddressRangesSection mayEdit={mayEdit} />
    </Page>
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
      {config.updated_at && <p className={styles.updated}>{words.updated(formatFull(config.updated_at))}</p>}
    </>
  )
}
