import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { Loaded } from '@/components/States'
import { call, type FactorPolicy } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { LinesLoading } from '../parts/Loading'
import { Section } from '../parts/Page'
import { useSave } from '../parts/useSave'
import { factorPolicyQuery } from '../queries'
import { factorPolicy as words } from '../texts'
import styles from './SessionLimits.module.css'

/** Which members need a second factor: administrators can see it, super-admins can set it. */
export function FactorPolicySection({ mayEdit }: { mayEdit: boolean }) {
  const query = useQuery(factorPolicyQuery)
  return (
    <Section title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<LinesLoading />}>
        {(data) => {
          if (!data.enforced) return <p>{words.aws}</p>
          return mayEdit ? <Form saved={data} /> : <p>{words.policies[data.policy]}</p>
        }}
      </Loaded>
    </Section>
  )
}

function Form({ saved }: { saved: FactorPolicy }) {
  const [chosen, setChosen] = useState<FactorPolicy['policy']>()
  const policy = chosen ?? saved.policy
  const { busy, save } = useSave(words, async () => {
    const stored = await call('putFactorPolicy', { body: { policy } })
    queryClient.setQueryData(factorPolicyQuery.queryKey, stored)
    setChosen(undefined)
  })
  return (
    <div className={styles.form}>
      <Select
        label={words.label}
        hint={words.hint}
        value={policy}
        onChange={(event) => setChosen(event.target.value as FactorPolicy['policy'])}
        options={Object.entries(words.policies)}
      />
      <Button variant="primary" disabled={policy === saved.policy} loading={busy} onClick={() => void save()}>
        {words.save}
      </Button>
    </div>
  )
}
