import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Loaded } from '@/components/States'
import { connectionPolicyQuery } from '@/entities/connection/connections'
import { call } from '@/lib/api'
import { queryClient, reload } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { texts } from '../texts'

const words = texts.connections.policy

/** Whether members may create personal access tokens. */
export function PolicySection() {
  const query = useQuery(connectionPolicyQuery)
  const { data } = query
  const [asking, setAsking] = useState(false)
  const { busy, run } = useTask()
  const set = async (allowed: boolean) => {
    await run(
      async () => {
        const stored = await call('putConnectionPolicy', { body: { personal_tokens: allowed } })
        queryClient.setQueryData(connectionPolicyQuery.queryKey, stored)
        toast(words.saved, { tone: 'success' })
        setAsking(false)
        await reload(['admin', 'listOrganizationConnections'])
      },
      () => toastFailure(words.notSaved),
    )
  }
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={
        data && (
          <Button loading={busy} onClick={() => (data.personal_tokens ? setAsking(true) : void set(true))}>
            {data.personal_tokens ? words.forbid : words.allow}
          </Button>
        )
      }
    >
      <Loaded query={query} loading={<LinesLoading />}>
        {({ personal_tokens }) => <p>{personal_tokens ? words.allowed : words.forbidden}</p>}
      </Loaded>
      {asking && (
        <ConfirmDialog
          title={words.confirm}
          confirm={words.forbid}
          danger
          busy={busy}
          onConfirm={() => void set(false)}
          onClose={() => setAsking(false)}
        >
          <p>{words.confirmBody}</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
