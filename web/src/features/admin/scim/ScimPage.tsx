import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Loaded } from '@/components/States'
import { meQuery } from '@/lib/api/queries'
import { CopyFact } from '../parts/CopyValue'
import { BoxesLoading } from '../parts/Loading'
import { BoxedFacts, Page, Section } from '../parts/Page'
import { scimQuery } from '../queries'
import { Steps } from '../saml/SamlFacts'
import { scim as words } from '../texts'
import { Calls } from './Calls'
import { Tokens } from './Tokens'

/** Provisioning: the values to enter at the identity provider, and its last calls. */
export function ScimPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const query = useQuery(scimQuery)
  const mayEdit = me.role === 'organization-super-admin'
  return (
    <Page title={words.title} lead={mayEdit ? words.lead : `${words.lead}${words.readOnly}`}>
      <Loaded query={query} loading={<BoxesLoading heights={[64, 160]} />}>
        {(config) => (
          <>
            {mayEdit && config.tokens.length === 0 && <Steps steps={words.steps} />}
            <Section title={words.connection.title} lead={words.connection.lead}>
              <BoxedFacts>
                <CopyFact name={words.connection.address} value={config.base_url} />
              </BoxedFacts>
            </Section>
            <Tokens config={config} mayEdit={mayEdit} />
          </>
        )}
      </Loaded>
      <Calls />
    </Page>
  )
}
