import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type RefObject, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { EndButton } from '@/components/EndDialog'
import { FieldErrorText, Select, TextField } from '@/components/Field'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { refreshProjects } from '@/entities/project/projects'
import { ApiError, call, errorMessage, errorsByField, type Project } from '@/lib/api'
import { skillsQuery } from '@/lib/api/queries'
import { formatNumber } from '@/lib/ui/numbers'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Channels } from './channels/Channels'
import project from './Project.module.css'
import { ProjectFields } from './ProjectFields'
import { Section } from './parts'
import { mayEdit, useProject } from './project'
import { isConflict, readProject, saveProject, usageQuery } from './queries'
import styles from './SettingsTab.module.css'
import { texts } from './texts'

const words = texts.settings

/** SettingsTab has the settings of the project, and the ways to archive, leave and delete it. */
export function SettingsTab() {
  const manages = useProject().role === 'manager'
  // Whether the user has left or deleted the project, so that unsaved changes are void.
  const ended = useRef(false)
  return (
    <div className={styles.settings}>
      <Basics ended={ended} />
      {manages && <Channels />}
      {manages && <Usage />}
      {manages && <Archive />}
      <End words={words.leaving} operation="leaveProject" ended={ended} />
      {manages && <End words={words.removing} operation="deleteProject" ended={ended} />}
    </div>
  )
}

const names = ['name', 'description', 'skill_id', 'retention_days', 'storage_limit'] as const

type Values = Record<(typeof names)[number], string>
type Wrong = Partial<Record<keyof Values | 'rest', string>>

const GIGABYTE = 1024 ** 3

function valuesOf({ name, description, skill_id, retention_days, storage_limit }: Project): Values {
  return {
    name,
    description,
    skill_id: skill_id ?? '',
    retention_days: retention_days ? String(retention_days) : '',
    storage_limit: storage_limit ? String(Number((storage_limit / GIGABYTE).toFixed(6))) : '',
  }
}

/**
 * Basics is the form of the settings, for editors and managers. If another member saves first, it applies the unsaved
 * changes to that record.
 */
function Basics({ ended }: { ended: RefObject<boolean> }) {
  const loaded = useProject()
  const [base, setBase] = useState(loaded)
  const [changes, setChanges] = useState<Partial<Values>>({})
  const [wrong, setWrong] = useState<Wrong>({})
  const { busy, run } = useTask()
  const values = { ...valuesOf(base), ...changes }
  const manages = base.role === 'manager'
  const { data: skills = [], isSuccess } = useQuery(skillsQuery)
  // A skill with a form has no composer, so that it is not offered.
  const offered = skills.filter(({ id, form_type }) => form_type === 'chat' || id === values.skill_id)
  const isBase = (other: Values) => JSON.stringify(other) === JSON.stringify(valuesOf(base))
  const dirty = !isBase(values)
  // Changes of members and instructions do not conflict with the form.
  if (loaded.version > base.version && (!dirty || isBase(valuesOf(loaded)))) setBase(loaded)
  const set = (change: Partial<Values>) => {
    setChanges({ ...changes, ...change })
    setWrong({})
  }
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const days = values.retention_days.trim().normalize('NFKC')
    const gigabytes = values.storage_limit.trim().normalize('NFKC')
    if (values.name.trim() === '') return setWrong({ name: texts.create.nameRequired })
    if (!/^\d{0,4}$/.test(days)) return setWrong({ retention_days: words.retentionWrong })
    if (!/^(\d{1,6}(\.\d+)?)?$/.test(gigabytes)) return setWrong({ storage_limit: words.storageWrong })
    await run(
      async () => {
        const { name, description, skill_id, storage_limit } = values
        const saved = await saveProject(base, {
          description,
          skill_id: skill_id || null,
          ...(manages && {
            name,
            retention_days: days === '' ? null : Number(days),
            // The field may show a rounded number.
            ...(storage_limit !== valuesOf(base).storage_limit && {
              storage_limit: gigabytes === '' ? null : Math.round(Number(gigabytes) * GIGABYTE),
            }),
          }),
        })
        setBase(saved)
        // Changes made during the request remain.
        setChanges((now) => (now === changes ? {} : now))
        toast(words.saved, { tone: 'success' })
      },
      async (cause) => {
        if (isConflict(cause)) {
          setWrong({ rest: words.conflict })
          return readProject(base.id).then(setBase, () => {})
        }
        const { errors, rest } = errorsByField(cause, (field) => names.find((name) => name === field))
        setWrong({ ...errors, ...(rest && { rest: texts.notSaved(rest) }) })
      },
    )
  }
  // A user who may no longer edit keeps unsaved changes, to copy them.
  if (!mayEdit(loaded) && !dirty) return null
  return (
    <Section title={words.basics}>
      <form className={project.form} noValidate onSubmit={(event) => void save(event)}>
        <ProjectFields values={values} wrong={wrong} named={manages} onChange={set} />
        <Select
          label={words.skill}
          hint={words.skillHint}
          value={values.skill_id}
          error={wrong.skill_id}
          onChange={({ target }) => set({ skill_id: target.value })}
          options={offered.map(({ id, name }) => [id, name])}
        >
          <option value="">{words.noSkill}</option>
          {isSuccess && values.skill_id !== '' && !skills.some(({ id }) => id === values.skill_id) && (
            <option value={values.skill_id}>{words.otherSkill}</option>
          )}
        </Select>
        {manages && (
          <>
            <TextField
              label={words.retention}
              hint={words.retentionHint}
              optional
              inputMode="numeric"
              value={values.retention_days}
              maxLength={4}
              autoComplete="off"
              error={wrong.retention_days}
              onChange={(event) => set({ retention_days: event.target.value })}
            />
            <TextField
              label={words.storage}
              hint={words.storageHint}
              optional
              inputMode="decimal"
              value={values.storage_limit}
              maxLength={20}
              autoComplete="off"
              error={wrong.storage_limit}
              onChange={(event) => set({ storage_limit: event.target.value })}
            />
          </>
        )}
        <div role="alert">{wrong.rest && <FieldErrorText>{wrong.rest}</FieldErrorText>}</div>
        <Button type="submit" variant="primary" disabled={!dirty} loading={busy}>
          {texts.save}
        </Button>
      </form>
      <UnsavedGuard dirty={dirty} released={ended} />
    </Section>
  )
}

function Usage() {
  const { id } = useProject()
  const query = useQuery(usageQuery(id))
  return (
    <Section title={words.usage} lead={words.usageLead}>
      <Loaded query={query}>
        {({ items, input_tokens, output_tokens }) =>
          items.length === 0 ? (
            <p className={project.quiet}>{words.usageNone}</p>
          ) : (
            <table className={styles.usage}>
              <thead>
                <tr>
                  <th scope="col">{words.usageMember}</th>
                  <th scope="col">{words.usageTokens}</th>
                </tr>
              </thead>
              <tbody>
                {items.map((item) => (
                  <tr key={item.member?.id ?? ''}>
                    <th scope="row">{item.member?.name ?? texts.files.departed}</th>
                    <td>{formatNumber(item.input_tokens + item.output_tokens)}</td>
                  </tr>
                ))}
                <tr>
                  <th scope="row">{words.usageTotal}</th>
                  <td>{formatNumber(input_tokens + output_tokens)}</td>
                </tr>
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Section>
  )
}

function Archive() {
  const { id, archived } = useProject()
  const { busy, run } = useTask()
  const change = () =>
    run(
      async () => {
        await call('archiveProject', { project_id: id, body: { archived: !archived } })
        await refreshProjects()
        toast(archived ? words.unarchivedDone : words.archivedDone, { tone: 'success' })
      },
      (cause) => toastFailure(texts.notSaved(errorMessage(cause))),
    )
  return (
    <Section title={words.archive} lead={words.archiveHint}>
      <div className={project.actions}>
        <Button loading={busy} onClick={() => void change()}>
          {archived ? words.unarchiveDo : words.archiveDo}
        </Button>
      </div>
    </Section>
  )
}

interface EndProps {
  readonly words: typeof words.leaving | typeof words.removing
  readonly operation: 'leaveProject' | 'deleteProject'
  readonly ended: RefObject<boolean>
}

/** End has a button that ends the user's use of the project after a confirmation, and then shows the list. */
function End({ words, operation, ended }: EndProps) {
  const { id, name } = useProject()
  const navigate = useNavigate()
  return (
    <Section title={words.title} lead={words.lead}>
      <div className={project.actions}>
        <EndButton
          label={words.action}
          size="md"
          words={words}
          end={async () => {
            await call(operation, { project_id: id })
            ended.current = true
            void navigate('/home/project', { replace: true })
            void refreshProjects()
          }}
          reasonOf={reasonToStay}
        >
          <p>{words.body(name)}</p>
        </EndButton>
      </div>
    </Section>
  )
}

/** reasonToStay returns why a member cannot leave a project. */
function reasonToStay(cause: unknown): string | undefined {
  const code = cause instanceof ApiError ? cause.code : ''
  if (code === 'last_manager') return texts.members.lastManager
  return code === 'member_by_group' ? words.byGroup : undefined
}
