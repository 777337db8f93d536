import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Loaded } from '@/components/States'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { LinesLoading } from './Loading'
import { Section } from './Page'

interface PolicySectionProps<T> {
  readonly query: UseQueryResult<T>
  /** Whether the policy allows it. */
  readonly allows: (policy: T) => boolean
  /** The change that must be confirmed. */
  readonly confirms: 'allow' | 'forbid'
  readonly onSet: (allowed: boolean) => Promise<void>
  readonly words: Readonly<
    Record<
      | 'title'
      | 'lead'
      | 'allowed'
      | 'forbidden'
      | 'allow'
      | 'forbid'
      | 'confirm'
      | 'confirmBody'
      | 'saved'
      | 'notSaved',
      string
    >
  >
}

/** PolicySection allows or forbids something for all members. */
export function PolicySection<T>({ query, allows, confirms, onSet, words }: PolicySectionProps<T>) {
  const { data } = query
  const [asking, setAsking] = useState(false)
  const { busy, run } = useTask()
  const set = (allowed: boolean) =>
    run(
      async () => {
        await onSet(allowed)
        toast(words.saved, { tone: 'success' })
        setAsking(false)
      },
      () => toastFailure(words.notSaved),
    )
  const change = data !== undefined && allows(data) ? 'forbid' : 'allow'
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={
        data && (
          <Button
            loading={busy}
            onClick={() => (change === confirms ? setAsking(true) : void set(change === 'allow'))}
          >
            {words[change]}
          </Button>
        )
      }
    >
      <Loaded query={query} loading={<LinesLoading />}>
        {(policy) => <p>{allows(policy) ? words.allowed : words.forbidden}</p>}
      </Loaded>
      {asking && (
        <ConfirmDialog
          title={words.confirm}
          confirm={words[confirms]}
          danger={confirms === 'forbid'}
          busy={busy}
          onConfirm={() => void set(confirms === 'allow')}
          onClose={() => setAsking(false)}
        >
          <p>{words.confirmBody}</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
