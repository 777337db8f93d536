import { Folder, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { PageHeading } from '@/components/PageHeading'
import { PageTitle } from '@/components/PageTitle'
import { SearchField } from '@/components/SearchField'
import { refreshProjects, restorableUntil } from '@/entities/project/projects'
import { call, errorMessage, type Project } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { CreateProject } from './CreateProject'
import styles from './Project.module.css'
import { Empty, LoadedList } from './parts'
import { type ProjectState, useProjects } from './queries'
import { texts } from './texts'

const words = texts.list

const states: readonly ProjectState[] = ['active', 'archived', 'deleted']

/** ProjectsPage lists the user's projects: those in use, the archived ones, or the deleted ones to restore. */
export function ProjectsPage() {
  const [params, change] = useQueryState()
  const [creating, setCreating] = useState(false)
  const query = params.get('q') ?? ''
  const state = states.find((one) => one === params.get('state')) ?? 'active'
  const list = useProjects(state, query)
  const searching = query.trim() !== ''
  return (
    <div className={styles.page}>
      <PageTitle>{texts.title}</PageTitle>
      <div className={styles.head}>
        <PageHeading title={texts.title} lead={texts.lead} />
        <Button variant="primary" onClick={() => setCreating(true)}>
          <Plus size={16} aria-hidden />
          {words.create}
        </Button>
      </div>
      <div className={styles.tools}>
        <SearchField
          label={words.search}
          value={query}
          onChange={(q) => change((next) => setValues(next, { q }))}
        />
        <div className={styles.chips} role="group" aria-label={words.statesLabel}>
          {states.map((one) => (
            <ChoiceChip
              key={one}
              selected={state === one}
              onClick={() => change((next) => setValues(next, { state: one === 'active' ? '' : one }))}
            >
              {words.states[one]}
            </ChoiceChip>
          ))}
        </div>
      </div>
      {state === 'deleted' && <p className={styles.quiet}>{words.deletedHint}</p>}
      <LoadedList list={list} empty={<Empty {...(searching ? words.noMatch : words.none[state])} />}>
        {(projects) => (
          <ul className={styles.list} aria-label={texts.title}>
            {projects.map((project) =>
              state === 'deleted' ? (
                <Deleted key={project.id} project={project} />
              ) : (
                <Line key={project.id} project={project} />
              ),
            )}
          </ul>
        )}
      </LoadedList>
      <p className="visually-hidden" role="status">
        {searching && !list.asking && texts.found(list.items.length, list.hasMore)}
      </p>
      {creating && <CreateProject onClose={() => setCreating(false)} />}
    </div>
  )
}

function Line({ project: { id, name, description, role, counts } }: { project: Project }) {
  return (
    <li className={styles.line}>
      <Folder size={20} aria-hidden />
      <div className={styles.what}>
        <Link className={styles.target} to={`/home/project/${id}`}>
          {name}
        </Link>
        {description && <p className={styles.brief}>{description}</p>}
        <p>{words.facts(counts.data_sources, counts.members)}</p>
      </div>
      <span className={styles.facts}>{texts.roles[role]}</span>
    </li>
  )
}

function Deleted({ project: { id, name, deleted_at } }: { project: Project }) {
  const { busy, run } = useTask()
  const restore = () =>
    run(
      async () => {
        await call('restoreProject', { project_id: id })
        toast(words.restored(name), { tone: 'success' })
        await refreshProjects()
        // The line with the pressed button has gone.
        document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
      },
      (cause) => toastFailure(words.notRestored(errorMessage(cause)), () => void restore()),
    )
  return (
    <li className={styles.line}>
      <Folder size={20} aria-hidden />
      <div className={styles.what}>
        <strong>{name}</strong>
        {deleted_at && <p>{words.until(formatDate(restorableUntil(deleted_at)))}</p>}
      </div>
      <Button size="sm" loading={busy} onClick={() => void restore()}>
        <span className="visually-hidden">{words.of(name)}</span>
        {words.restore}
      </Button>
    </li>
  )
}
