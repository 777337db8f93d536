import { useQuery } from '@tanstack/react-query'
import { connectionPolicyQuery } from '@/entities/connection/connections'
import { call } from '@/lib/api'
import { queryClient, reload } from '@/lib/api/queries'
import { PolicySection } from '../parts/PolicySection'
import { connections } from '../texts'

/** Whether members may create personal access tokens. */
export function TokenPolicy() {
  return (
    <PolicySection
      query={useQuery(connectionPolicyQuery)}
      allows={({ personal_tokens }) => personal_tokens}
      confirms="forbid"
      words={connections.policy}
      onSet={async (allowed) => {
        const stored = await call('putConnectionPolicy', { body: { personal_tokens: allowed } })
        queryClient.setQueryData(connectionPolicyQuery.queryKey, stored)
        await reload(['admin', 'listOrganizationConnections'])
      }}
    />
  )
}
