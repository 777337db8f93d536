import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import { SkillIcon } from '@/components/SkillIcon'
import { EmptyState, ErrorState } from '@/components/States'
import { ApiError, type MadeSkill } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
import { download } from '@/lib/browser/download'
import { formatDate } from '@/lib/ui/dates'
import { toastFailure } from '@/lib/ui/toast'
import styles from './Library.module.css'
import { refreshSkills, shelfQuery } from './queries'
import { texts } from './texts'

const page = 50

/** The skills of a shelf, with what can be done with them. */
export function Shelf({ shelf }: { shelf: 'own' | 'organization' }) {
  const [archived, setArchived] = useState(false)
  const [limit, setLimit] = useState(page)
  const { data, isError, refetch } = useQuery(shelfQuery(shelf, archived, limit))
  return (
    <>
      <label className={styles.archived}>
        <input type="checkbox" checked={archived} onChange={(event) => setArchived(event.target.checked)} />
        {texts.archived}
      </label>
      {isError && <ErrorState onRetry={() => void refetch()} />}
      {data === undefined && !isError && <p role="status">{texts.loading}</p>}
      {data?.total === 0 && <EmptyState title={texts.empty} />}
      <ul className={styles.list}>
        {data?.items.map((skill) => (
          <Line key={skill.id} skill={skill} shelf={shelf} />
        ))}
      </ul>
      {data && data.items.length < data.total && limit < 100 && (
        <Button onClick={() => setLimit(100)}>{texts.more}</Button>
      )}
    </>
  )
}

/** Runs an action on a skill, then reads the lists anew; a failure is told. */
export async function act(action: () => Promise<unknown>): Promise<void> {
  try {
    await action()
    refreshSkills()
  } catch (cause) {
    toastFailure(cause instanceof ApiError ? cause.message : texts.failed)
  }
}

function Line({ skill, shelf }: { skill: MadeSkill; shelf: 'own' | 'organization' }) {
  const [asking, setAsking] = useState(false)
  const { id, content, request } = skill
  const audience = shelf === 'own' ? 'self' : 'organization'
  const save = () =>
    act(async () => download(`${content.name}.yaml`, await made.exportSkill(id), 'application/yaml'))
  return (
    <li className={styles.line}>
      <SkillIcon path={skill.icon_path} size={32} />
      <div>
        <h2>{skill.archived ? content.name : <Link to={`/home/skill/${id}`}>{content.name}</Link>}</h2>
        <p>{texts.saved(skill.updated_by, formatDate(skill.updated_at))}</p>
        {request && (
          <p>
            {texts.state[request.state]}
            {request.state === 'rejected' && `（${texts.rejectedFor(request.reason)}）`}
          </p>
        )}
      </div>
      <div className={styles.actions}>
        {skill.archived ? (
          <Button size="sm" onClick={() => void act(() => made.archiveSkill(id, false))}>
            {texts.restore}
          </Button>
        ) : (
          <>
            <Link
              className={styles.edit}
              to={`/home/skill/${id}/edit`}
              aria-label={`${content.name}を${texts.edit}`}
            >
              {texts.edit}
            </Link>
            <Button
              size="sm"
              onClick={() =>
                void act(() => made.copySkill(id, { request_id: crypto.randomUUID(), audience }))
              }
            >
              {texts.copy}
            </Button>
            <Button size="sm" onClick={() => void save()}>
              {texts.exportFile}
            </Button>
            {shelf === 'own' &&
              (request?.state === 'pending' ? (
                <Button size="sm" onClick={() => void act(() => made.requestSkill(id, null))}>
                  {texts.withdraw}
                </Button>
              ) : (
                <Button size="sm" onClick={() => setAsking(true)}>
                  {texts.publish}
                </Button>
              ))}
            <Button size="sm" onClick={() => void act(() => made.archiveSkill(id, true))}>
              {texts.archive}
            </Button>
          </>
        )}
      </div>
      {asking && <Publish skill={skill} onClose={() => setAsking(false)} />}
    </li>
  )
}

function Publish({ skill, onClose }: { skill: MadeSkill; onClose: () => void }) {
  const [note, setNote] = useState('')
  const send = async () => {
    await act(() => made.requestSkill(skill.id, note))
    onClose()
  }
  return (
    <Dialog
      title={`${skill.content.name}: ${texts.publish}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="primary" onClick={() => void send()}>
            {texts.publish}
          </Button>
        </>
      }
    >
      <p>{texts.publishLead}</p>
      <TextArea
        label={texts.note}
        optional
        rows={3}
        maxLength={1000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
    </Dialog>
  )
}
