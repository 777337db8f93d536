import { useQuery } from '@tanstack/react-query'
import type { OidcConfig } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { CopyFact } from '../parts/CopyValue'
import { BoxedFacts, Fact, Section } from '../parts/Page'
import { oidcQuery } from '../queries'
import { ProtocolPage } from '../saml/ProtocolPage'
import { CodeFact, DomainsFact, Steps, Unset } from '../saml/SamlFacts'
import { oidc as words } from '../texts'
import { OidcStatus } from './OidcStatus'

/** Single sign-on by OpenID Connect: its status, and the values to enter on both sides. */
export function OidcPage() {
  const query = useQuery(oidcQuery)
  return (
    <ProtocolPage query={query} words={words} edit="/admin/saml/oidc/edit" heights={[96, 160, 180]}>
      {(config, mayEdit) => <Config config={config} mayEdit={mayEdit} />}
    </ProtocolPage>
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
          <CopyFact name={rp.redirect} value={config.redirect_url} />
          <CopyFact name={rp.logout} value={config.logout_url} />
        </BoxedFacts>
      </Section>
      <Section title={idp.title}>
        <BoxedFacts>
          <CodeFact name={idp.issuer} value={config.issuer} />
          <CodeFact name={idp.clientId} value={config.client_id} />
          <Fact name={idp.secret}>{config.has_client_secret ? idp.secretSet : <Unset />}</Fact>
          <CodeFact name={idp.scopes} value={config.scopes.join(' ')} />
        </BoxedFacts>
      </Section>
      <Section title={claims.title}>
        <BoxedFacts>
          <CodeFact name={claims.email} value={config.email_claim} />
          <CodeFact name={claims.name} value={config.name_claim} empty={claims.nameEmpty} />
          <CodeFact name={claims.groups} value={config.groups_claim} empty={claims.groupsEmpty} />
          <DomainsFact name={claims.domains} domains={config.email_domains} />
        </BoxedFacts>
      </Section>
      <Section title={request.title}>
        <BoxedFacts>
          <CodeFact name={request.prompt} value={config.prompt} empty={request.none} />
          <CodeFact name={request.acr} value={config.acr_values.join(' ')} empty={request.none} />
          <Fact name={request.maxAge}>
            {config.max_age === 0 ? request.none : request.seconds(formatNumber(config.max_age))}
          </Fact>
        </BoxedFacts>
      </Section>
    </>
  )
}
