import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { refreshModels } from '@/entities/model/models'
import { call, type OrganizationModels } from '@/lib/api'
import { configQuery, queryClient } from '@/lib/api/queries'
import { useToastPlace } from '@/lib/ui/toastPlace'
import { BoxesLoading } from '../parts/Loading'
import { Notice, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { useSave } from '../parts/useSave'
import { modelsQuery } from '../queries'
import { models as words } from '../texts'
import { DictationPolicy } from './DictationPolicy'
import { type Decisions, decisionsOf, isForAll, requestOf, withChange } from './decisions'
import { ModelLine } from './ModelLine'
import styles from './ModelsPage.module.css'
import { NoModel } from './NoModel'

/** The models of the server: their availability to members and their display names. */
export function ModelsPage() {
  const connected = useQuery(configQuery).data?.model_connected ?? true
  const query = useQuery({ ...modelsQuery, enabled: connected })
  if (!connected)
    return (
      <Page title={words.title} lead={words.lead}>
        <NoModel />
        <DictationPolicy />
      </Page>
    )
  return (
    <Page title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<BoxesLoading heights={[320]} />}>
        {(data) => <Form loaded={data} />}
      </Loaded>
      <DictationPolicy />
    </Page>
  )
}

function Form({ loaded }: { loaded: OrganizationModels }) {
  const [saved, setSaved] = useState(() => decisionsOf(loaded))
  const [chosen, setChosen] = useState<Decisions>(saved)
  const released = useRef(false)
  const dirty = JSON.stringify(chosen) !== JSON.stringify(saved)
  const bar = useRef<HTMLDivElement>(null)
  useToastPlace('foot', bar, dirty)
  const none = !chosen.models.some(isForAll)
  const { busy, save } = useSave(words, async () => {
    const answer = await call('putOrganizationModels', { body: requestOf(chosen) })
    // The server may have other models since the page was opened.
    queryClient.setQueryData(modelsQuery.queryKey, answer)
    const stored = decisionsOf(answer)
    setSaved(stored)
    // Changes made during the request remain.
    setChosen((now) => (now === chosen ? stored : now))
    void refreshModels()
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!none && dirty) void save()
  }
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      {loaded.models.length === 1 && <Notice level="info">{words.onlyOne}</Notice>}
      {none && (
        <Notice level="warning" role="alert">
          {chosen.models.some(({ allowed }) => allowed) ? words.noneForAll : words.noneAllowed}
        </Notice>
      )}
      <div className={table.box}>
        <Table
          caption={words.caption}
          columns={[words.model, words.allowed, words.standard, words.groups.label, words.shown]}
          className={table.stacked}
        >
          {loaded.models.map((model) => {
            const decision = chosen.models.find(({ id }) => id === model.id)
            return (
              decision && (
                <ModelLine
                  key={model.id}
                  model={model}
                  decision={decision}
                  standard={chosen.default_id === model.id}
                  onStandard={() => setChosen({ ...chosen, default_id: model.id })}
                  onChange={(change) => setChosen(withChange(chosen, model.id, change))}
                />
              )
            )
          })}
        </Table>
      </div>
      {dirty && (
        <div className={styles.bar} ref={bar}>
          <p role="status">{words.changed}</p>
          <Button variant="quiet" onClick={() => setChosen(saved)}>
            {words.discard}
          </Button>
          <Button type="submit" variant="primary" disabled={none} loading={busy}>
            {words.save}
          </Button>
        </div>
      )}
      <UnsavedGuard dirty={dirty} released={released} />
    </form>
  )
}
