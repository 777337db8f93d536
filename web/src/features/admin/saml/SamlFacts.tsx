import { Download } from 'lucide-react'
import type { SamlConfig } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { CopyValue } from '../parts/CopyValue'
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
        <Fact name={sp.entity}>
          <CopyValue label={sp.entity} value={config.sp_entity_id} />
        </Fact>
        <Fact name={sp.acs}>
          <CopyValue label={sp.acs} value={config.sp_acs_url} />
        </Fact>
        <Fact name={sp.metadata}>
          <CopyValue label={sp.metadata} value={config.sp_metadata_url} />
        </Fact>
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
            <Code value={config.idp_metadata_url} />
            {config.idp_metadata_read_at && (
              <p className={styles.quiet}>{idp.read(formatFull(config.idp_metadata_read_at))}</p>
            )}
          </Fact>
        )}
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
        <Fact name={attributes.email}>
          <Code value={config.email_attribute} empty={attributes.emailEmpty} />
        </Fact>
        <Fact name={attributes.name}>
          <Code value={config.name_attribute} empty={attributes.nameEmpty} />
        </Fact>
        <Fact name={attributes.domains}>
          {config.email_domains.length === 0 ? <Unset /> : config.email_domains.join('、')}
        </Fact>
      </BoxedFacts>
    </Section>
  )
}

/** A value that is compared exactly, or a text for none. */
export function Code({ value, empty }: { value: string; empty?: string }) {
  if (value !== '') return <code className={styles.code}>{value}</code>
  return empty ? <span>{empty}</span> : <Unset />
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
