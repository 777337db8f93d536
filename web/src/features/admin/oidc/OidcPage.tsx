import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Pencil } from 'lucide-react'
import { ButtonLink } from '@/components/Button'
import { Loaded } from '@/components/States'
import type { OidcConfig } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatFull } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import { CopyValue } from '../parts/CopyValue'
import { BoxesLoading } from '../parts/Loading'
import { BoxedFacts, Fact, Page, Section } from '../parts/Page'
import { oidcQuery } from '../queries'
import { AddressRangesSection } from '../saml/AddressRanges'
import { FactorPolicySection } from '../saml/FactorPolicy'
import { Protocols } from '../saml/Protocols'
import styles from '../saml/Saml.module.css'
import { Code, Steps, Unset } from '../saml/SamlFacts'
import { SessionLimitsSection } from '../saml/SessionLimits'
import { oidc as words } from '../texts'
import { OidcStatus } from './OidcStatus'

/** Single sign-on by OpenID Connect: its status, and the values to enter on both sides. */
export function OidcPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const query = useQuery(oidcQuery)
  const mayEdit = me.role === 'organization-super-admin'
  return (
    <Page
      title={words.title}
      lead={mayEdit ? undefined : words.readOnly}
      actions={
        mayEdit && (
          <ButtonLink to="/admin/saml/oidc/edit">
            <Pencil size={16} aria-hidden />
            {words.edit}
          </ButtonLink>
        )
      }
    >
      <Protocols />
      <Loaded query={query} loading={<BoxesLoading heights={[96, 160, 180]} />}>
        {(config) => <Config config={config} mayEdit={mayEdit} />}
      </Loaded>
      <SessionLimitsSection mayEdit={mayEdit} />
      <FactorPolicySection mayEdit={mayEdit} />
      <AddressRangesSection mayEdit={mayEdit} />
    </Page>
  )
}

function Config({ config, mayEdit }: { config: OidcConfig; mayEdit: boolean }) {
  const { rp, idp, claims, request } = words
  return (
    <>
      <OidcStatus config={config} mayEdit={mayEdit} />
      {!config.enabled && mayEdit && <Steps steps={words.steps} />}
      <Section title={rp.title} lead={rp.lead}>
        <BoxedFacts>
          <Fact name={rp.redirect}>
            <CopyValue label={rp.redirect} value={config.redirect_url} />
          </Fact>
          <Fact name={rp.logout}>
            <CopyValue label={rp.logout} value={config.logout_url} />
          </Fact>
        </BoxedFacts>
      </Section>
      <Section title={idp.title}>
        <BoxedFacts>
          <Fact name={idp.issuer}>
            <Code value={config.issuer} />
          </Fact>
          <Fact name={idp.clientId}>
            <Code value={config.client_id} />
          </Fact>
          <Fact name={idp.secret}>{config.has_client_secret ? idp.secretSet : <Unset />}</Fact>
          <Fact name={idp.scopes}>
            <Code value={config.scopes.join(' ')} />
          </Fact>
        </BoxedFacts>
      </Section>
      <Section title={claims.title}>
        <BoxedFacts>
          <Fact name={claims.email}>
            <Code value={config.email_claim} />
          </Fact>
          <Fact name={claims.name}>
            <Code value={config.name_claim} empty={claims.nameEmpty} />
          </Fact>
          <Fact name={claims.groups}>
            <Code value={config.groups_claim} empty={claims.groupsEmpty} />
          </Fact>
          <Fact name={claims.domains}>
            {config.email_domains.length === 0 ? <Unset /> : config.email_domains.join('、')}
          </Fact>
        </BoxedFacts>
      </Section>
      <Section title={request.title}>
        <BoxedFacts>
          <Fact name={request.prompt}>
            <Code value={config.prompt} empty={request.none} />
          </Fact>
          <Fact name={request.acr}>
            <Code value={config.acr_values.join(' ')} empty={request.none} />
          </Fact>
          <Fact name={request.maxAge}>
            {config.max_age === 0 ? request.none : request.seconds(formatNumber(config.max_age))}
          </Fact>
        </BoxedFacts>
      </Section>
      {config.updated_at && <p className={styles.updated}>{words.updated(formatFull(config.updated_at))}</p>}
    </>
  )
}
