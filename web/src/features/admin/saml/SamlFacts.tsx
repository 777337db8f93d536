import { Download } from 'lucide-react'
import type { SamlConfig } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { CopyFact } from '../parts/CopyValue'
import { BoxedFacts, Fact, Section } from '../parts/Page'
import { common, saml as words } from '../texts'
import { Certificates } from './Certificates'
import styles from './Saml.module.css'

/** The values to enter at the identity provider. */
export function ServiceProvider({ config }: { config: SamlConfig }) {
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
      <BoxedFacts>
        <CopyFact name={sp.entity} value={config.sp_entity_id} />
        <CopyFact name={sp.acs} value={config.sp_acs_url} />
        <CopyFact name={sp.metadata} value={config.sp_metadata_url} />
      </BoxedFacts>
    </Section>
  )
}

// Under the name that the page was opened with, because a browser saves only files from the page's own origin.
function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url
}

/** The settings of the identity provider. */
export function IdentityProvider({ config }: { config: SamlConfig }) {
  const { idp } = words
  return (
    <Section title={idp.title}>
      <BoxedFacts>
        {config.idp_metadata_url !== '' && (
          <Fact name={idp.url}>
            <code className={styles.code}>{config.idp_metadata_url}</code>
            {config.idp_metadata_read_at && (
              <p className={styles.quiet}>{idp.read(formatFull(config.idp_metadata_read_at))}</p>
            )}
          </Fact>
        )}
        <CodeFact name={idp.entity} value={config.idp_entity_id} />
        <CodeFact name={idp.sso} value={config.idp_sso_url} />
        <Fact name={idp.certificates}>
          {config.idp_certificates.length === 0 ? (
            <Unset />
          ) : (
            <Certificates certificates={config.idp_certificates} />
          )}
        </Fact>
      </BoxedFacts>
    </Section>
  )
}

/** The attributes of an assertion, and the accepted domains. */
export function Attributes({ config }: { config: SamlConfig }) {
  const { attributes } = words
  return (
    <Section title={attributes.title}>
      <BoxedFacts>
        <CodeFact name={attributes.email} value={config.email_attribute} empty={attributes.emailEmpty} />
        <CodeFact name={attributes.name} value={config.name_attribute} empty={attributes.nameEmpty} />
        <DomainsFact name={attributes.domains} domains={config.email_domains} />
      </BoxedFacts>
    </Section>
  )
}

/** One name and its value, which is compared exactly, or a text for none. */
export function CodeFact({ name, value, empty }: { name: string; value: string; empty?: string }) {
  return (
    <Fact name={name}>
      {value !== '' && <code className={styles.code}>{value}</code>}
      {value === '' && (empty ? <span>{empty}</span> : <Unset />)}
    </Fact>
  )
}

/** The mail domains that may sign in. */
export function DomainsFact({ name, domains }: { name: string; domains: readonly string[] }) {
  return <Fact name={name}>{domains.length === 0 ? <Unset /> : domains.join('、')}</Fact>
}

/** The text for a value that is not set. */
export function Unset() {
  return <span className={styles.unset}>{common.unset}</span>
}

/** The steps of setting single sign-on up. */
export function Steps({ steps }: { steps: { readonly title: string; readonly items: readonly string[] } }) {
  return (
    <Section title={steps.title}>
      <ol className={styles.steps}>
        {steps.items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ol>
    </Section>
  )
}
