import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import { Loaded } from '@/components/States'
import type { SlackConfig } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { BoxesLoading } from '../parts/Loading'
import { Notice, Page } from '../parts/Page'
import { slackQuery } from '../queries'
import { slack as words } from '../texts'
import { AppSection } from './AppSection'
import { InstallSection } from './InstallSection'
import { LinksSection } from './LinksSection'
import { PolicySection } from './PolicySection'
import { StatusSection } from './StatusSection'
import { ValuesSection } from './ValuesSection'

/** The organization's Slack settings: the state, the steps to connect it, the allowed uses, and the linked members. */
export function SlackPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const query = useQuery(slackQuery)
  const mayEdit = me.role === 'organization-super-admin'
  return (
    <Page title={words.title} lead={mayEdit ? words.lead : `${words.lead}${words.readOnly}`}>
      <Returned />
      <Loaded query={query} loading={<BoxesLoading heights={[96, 260, 320]} />}>
        {(config) => <Config config={config} mayEdit={mayEdit} />}
      </Loaded>
    </Page>
  )
}

/** The result of the installation after Slack redirects back. */
function Returned() {
  const [params] = useSearchParams()
  const error = params.get('error')
  if (params.get('result') === 'installed') {
    return (
      <Notice level="success" role="status">
        {words.installed}
      </Notice>
    )
  }
  if (error === null) return null
  return (
    <Notice level="danger" role="alert">
      {words.installFailed[error] ?? words.installFailedOther}
    </Notice>
  )
}

function Config({ config, mayEdit }: { config: SlackConfig; mayEdit: boolean }) {
  const environment = config.source === 'environment'
  const steps = mayEdit && !environment && config.storable
  const connected = config.workspace !== undefined
  return (
    <>
      {environment && <Notice level="info">{words.environment}</Notice>}
      {!environment && !config.storable && <Notice level="warning">{words.noKey}</Notice>}
      {config.socket_only && !config.credentials.app_token && (
        <Notice level="warning">
          {words.socketOnly}
          {environment ? words.socketOnlyEnvironment : words.socketOnlySteps}
        </Notice>
      )}
      <StatusSection config={config} mayEdit={mayEdit} />
      {connected && (
        <>
          <PolicySection config={config} mayEdit={mayEdit} />
          <LinksSection mayEdit={mayEdit} />
        </>
      )}
      {steps && (
        <>
          <AppSection socketOnly={config.socket_only} />
          <ValuesSection config={config} />
          <InstallSection config={config} />
        </>
      )}
    </>
  )
}
