import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Download, Pencil } from 'lucide-react'
import { useSearchParams } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { ErrorState } from '@/components/States'
import type { SamlConfig } from '@/lib/api'
import { formatFull } from '@/lib/dates'
import { meQuery } from '@/lib/queries'
import { CopyValue } from '../parts/CopyValue'
import { BoxesLoading } from '../parts/Loading'
import { Fact, Facts, Notice, Page, Section } from '../parts/Page'
import table from '../parts/Table.module.css'
import { samlQuery } from '../queries'
import { texts } from '../texts'
import { Certificates } from './Certificates'
import { lastDay, validityOf } from './certificates'
import styles from './Saml.module.css'
import { SamlStatus } from './SamlStatus'
import { TestResult } from './TestResult'

const words = texts.saml

/** The single sign-on: whether it is on, what has to be entered where, and what a trial brought. */
export function SamlPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const { data: config, isError, refetch } = useQuery(samlQuery)
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
      {testId && <TestResult id={testId} mayTest={mayEdit} />}
      {config === undefined && isError && <ErrorState onRetry={() => void refetch()} />}
      {config === undefined && !isError && <BoxesLoading heights={[96, 220, 180]} />}
      {config && <Config config={config} mayEdit={mayEdit} />}
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
      <SamlStatus config={config} mayEdit={mayEdit} />
      {!config.enabled && mayEdit && <Steps />}
      <ServiceProvider config={config} />
      <IdentityProvider config={config} />
      <Attributes config={config} />
      {config.updated_at && <p className={styles.updated}>{words.updated(formatFull(config.updated_at))}</p>}
    </>
  )
}

function Steps() {
  return (
    <Section title={words.steps.title}>
      <ol className={styles.steps}>
        {words.steps.items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ol>
    </Section>
  )
}

function ServiceProvider({ config }: { config: SamlConfig }) {
  const { sp } = words
  return (
    <Section
      title={sp.title}
      lead={sp.lead}
      actions={
        <a
          className={styles.download}
          href={pathOf(config.sp_metadata_url)}
          download="tsumugi-saml-metadata.xml"
        >
          <Download size={15} aria-hidden />
          {sp.download}
        </a>
      }
    >
      <div className={table.box}>
        <div className={styles.facts}>
          <Facts>
            <Fact name={sp.entity}>
              <CopyValue label={sp.entity} value={config.sp_entity_id} />
            </Fact>
            <Fact name={sp.acs}>
              <CopyValue label={sp.acs} value={config.sp_acs_url} />
            </Fact>
            <Fact name={sp.metadata}>
              <CopyValue label={sp.metadata} value={config.sp_metadata_url} />
            </Fact>
          </Facts>
        </div>
      </div>
    </Section>
  )
}

// On this server by whatever name it was opened: a browser saves only what comes from the page's own origin.
function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url
}

function IdentityProvider({ config }: { config: SamlConfig }) {
  const { idp } = words
  return (
    <Section title={idp.title}>
      <div className={table.box}>
        <div className={styles.facts}>
          <Facts>
            <Fact name={idp.entity}>
              <Code value={config.idp_entity_id} />
            </Fact>
            <Fact name={idp.sso}>
              <Code value={config.idp_sso_url} />
            </Fact>
            <Fact name={idp.certificates}>
              {config.idp_certificates.length === 0 ? (
                <Unset />
              ) : (
                <Certificates certificates={config.idp_certificates} />
              )}
            </Fact>
          </Facts>
        </div>
      </div>
    </Section>
  )
}

function Attributes({ config }: { config: SamlConfig }) {
  const { attributes } = words
  return (
    <Section title={attributes.title}>
      <div className={table.box}>
        <div className={styles.facts}>
          <Facts>
            <Fact name={attributes.email}>
              <Code value={config.email_attribute} empty={attributes.emailEmpty} />
            </Fact>
            <Fact name={attributes.name}>
              <Code value={config.name_attribute} empty={attributes.nameEmpty} />
            </Fact>
            <Fact name={attributes.domains}>
              {config.email_domains.length === 0 ? <Unset /> : config.email_domains.join('、')}
            </Fact>
          </Facts>
        </div>
      </div>
    </Section>
  )
}

function Code({ value, empty }: { value: string; empty?: string }) {
  if (value !== '') return <code className={styles.code}>{value}</code>
  return empty ? <span>{empty}</span> : <Unset />
}

function Unset() {
  return <span className={styles.unset}>{texts.common.unset}</span>
}
