import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { ErrorState } from '@/components/States'
import { connectionPolicyQuery } from '@/entities/connection/connections'
import { putConnectionPolicy } from '@/lib/api/connections'
import { queryClient, reload } from '@/lib/api/queries'
import { toast, toastFailure } from '@/lib/ui/toast'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { texts } from '../texts'

const words = texts.connections.policy

/** Whether members may create personal access tokens. */
export function PolicySection() {
  const { data, isError, refetch } = useQuery(connectionPolicyQuery)
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)
  const set = async (allowed: boolean) => {
    setBusy(true)
    try {
      queryClient.setQueryData(
        connectionPolicyQuery.queryKey,
        await putConnectionPolicy({ personal_tokens: allowed }),
      )
      toast(words.saved, { tone: 'success' })
      setAsking(false)
      await reload(['admin', 'connections'])
    } catch {
      toastFailure(words.notSaved)
    } finally {
      setBusy(false)
    }
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
      {data === undefined && (isError ? <ErrorState onRetry={() => void refetch()} /> : <LinesLoading />)}
      {data && <p>{data.personal_tokens ? words.allowed : words.forbidden}</p>}
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
