import { useQueries } from '@tanstack/react-query'
import { useAtom, useAtomValue } from 'jotai'
import { FileUp } from 'lucide-react'
import {
  type FormEvent,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { Button } from '@/components/Button'
import { Select, TextArea, TextField } from '@/components/Field'
import { sourceQuery } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { useFiles } from '@/entities/source/useFiles'
import type { FormField, Skill } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { keys } from '@/lib/browser/platform'
import { focusComposer } from '@/lib/ui/composer'
import { isSend } from '@/lib/ui/sendKey'
import { store } from '@/lib/ui/store'
import { useToastPlace } from '@/lib/ui/toastPlace'
import drop from '../composer/DropTarget.module.css'
import { ModelMenu, ModelNote } from '../composer/ModelMenu'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { fieldMessages } from '../conversation/failures'
import { draftAtom } from '../draft/drafts'
import { readinessOf } from '../draft/questionFiles'
import { texts } from '../texts'
import { FileField, uploadTo } from './FileField'
import {
  checkForm,
  eitherOf,
  type FormValues,
  filled,
  inOrder,
  lengthOf,
  limitOf,
  renderForm,
  withDefaults,
} from './formValues'
import styles from './Start.module.css'

/** SkillForm is the form of a skill. It keeps the values until the server has them, across reloads and other pages. */
export function SkillForm({
  skill,
  conversation,
  disabled,
  draft = `form:${skill.id}`,
  initial = {},
  focused = false,
  onAsk,
  onCancel,
}: {
  skill: Skill
  conversation: Conversation
  disabled: boolean
  /** The key under which the values are stored, and the initial values. */
  draft?: string
  initial?: FormValues
  /** Whether the first text field takes the focus on devices with a keyboard, so that a text can be pasted at once. */
  focused?: boolean
  onAsk: (question: Question) => void
  onCancel?: () => void
}) {
  const [kept, setValue, clear] = useValues(draft, initial)
  const values = withDefaults(skill, kept)
  const { failure } = useAtomValue(conversation.stateAtom)
  const [tried, setTried] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const foot = useRef<HTMLDivElement>(null)
  useToastPlace('foot', foot, focused)
  useLayoutEffect(() => {
    if (focused) focusComposer()
  }, [focused])
  const files = useFormFiles(skill, values, draft)
  const [waiting, setWaiting] = useState(false)
  const wrong = {
    ...fieldMessages(failure?.cause, 'form.'),
    ...(tried && !waiting && checkForm(skill, values)),
  }

  const submit = () => {
    setTried(true)
    setWaiting(files.readiness === 'reading')
    if (files.readiness !== 'ready') return
    const first = Object.keys(checkForm(skill, values))[0]
    if (first !== undefined) {
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus()
      return
    }
    const content = renderForm(skill, values, files.nameOf)
    onAsk({ kind: 'form', form: filled(skill, values), content, onTaken: clear })
  }
  const onRead = useEffectEvent(submit)
  useEffect(() => {
    if (waiting && files.readiness !== 'reading') onRead()
  }, [waiting, files.readiness])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    submit()
  }
  const locked = disabled || waiting
  const { over, handlers } = useFormDrop(skill, draft, locked, setValue)
  const either = eitherOf(skill)
  const fields = inOrder(skill)
  const first = fields.find(({ type }) => type === 'text' || type === 'textarea')
  const send = onCancel ? texts.send : texts.form.submit

  return (
    <form
      className={styles.form}
      ref={form}
      onSubmit={onSubmit}
      onKeyDown={(event) => {
        if (!isSend(event, 'mod-enter') || locked) return
        event.preventDefault()
        submit()
      }}
      noValidate
      {...handlers}
    >
      {over && (
        <p className={drop.over} aria-hidden>
          <FileUp size={22} />
          {texts.files.dropHere}
        </p>
      )}
      {fields.map((field) => (
        <FormControl
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          error={wrong[field.name]}
          optional={either.length > 1 && either.includes(field) ? texts.form.oneOf : !field.required}
          disabled={locked}
          target={targetOf(draft, field)}
          composer={focused && field === first ? draft : undefined}
          onChange={(value) => setValue(field.name, value)}
        />
      ))}
      {waiting && (
        <p className={styles.waits} role="status">
          {texts.files.waits}
          <Button size="sm" onClick={() => setWaiting(false)}>
            {texts.files.cancel}
          </Button>
        </p>
      )}
      <ModelNote skillId={skill.id} />
      <div className={styles.submit} ref={foot}>
        <ModelMenu skillId={skill.id} />
        {onCancel && (
          <Button size="lg" onClick={onCancel}>
            {texts.cancel}
          </Button>
        )}
        <Button
          variant="primary"
          size="lg"
          type="submit"
          aria-label={send}
          data-tip="top"
          data-tip-keys={keys('mod', 'Enter')}
          disabled={locked || files.readiness === 'failed'}
        >
          {send}
        </Button>
      </div>
    </form>
  )
}

function useValues(
  key: string,
  initial: FormValues,
): [FormValues, (name: string, value: string) => void, () => void] {
  const [draft, setDraft] = useAtom(draftAtom(key))
  const read = (text: string) => (text === '' ? initial : parse(text))
  // An upload may finish long after this rendering.
  const set = (name: string, value: string) =>
    setDraft(JSON.stringify({ ...read(store.get(draftAtom(key))), [name]: value }))
  return [read(draft), set, () => setDraft('')]
}

/** useFormDrop accepts a dropped or pasted file if the form has exactly one field for it. */
function useFormDrop(
  skill: Skill,
  draft: string,
  disabled: boolean,
  onSent: (name: string, id: string) => void,
) {
  const [field, ...more] = skill.form_fields.filter(({ type }) => type === 'file')
  const takes = field !== undefined && more.length === 0 && !disabled
  return useFiles(
    takes ? (files) => uploadTo(targetOf(draft, field), files, (id) => onSent(field.name, id)) : null,
  )
}

/** useFormFiles returns the files of a form with their upload state and names. */
function useFormFiles(skill: Skill, values: FormValues, draft: string) {
  const fields = skill.form_fields.filter(({ type }) => type === 'file')
  const ids = fields.map(({ name }) => values[name] ?? '').filter(Boolean)
  const results = useQueries({ queries: ids.map(sourceQuery) }, queryClient)
  const all = useSyncExternalStore(uploads.subscribe, () => uploads.uploads)
  const uploading = all.filter(({ to }) => fields.some((field) => to?.name === targetOf(draft, field)))
  const readiness = readinessOf(
    results.map(({ data }) => data),
    uploading,
  )
  const nameOf = (id: string) => results[ids.indexOf(id)]?.data?.filename ?? ''
  return { readiness, nameOf }
}

/** targetOf returns the name of a field's uploads. */
function targetOf(draft: string, field: FormField): string {
  return `${draft}:${field.name}`
}

function parse(draft: string): FormValues {
  try {
    const value: unknown = JSON.parse(draft)
    if (value === null || typeof value !== 'object') return {}
    return Object.fromEntries(Object.entries(value).filter(([, item]) => typeof item === 'string'))
  } catch {
    return {}
  }
}

interface ControlProps {
  readonly field: FormField
  readonly value: string
  readonly error: string | undefined
  readonly optional: boolean | string
  readonly disabled: boolean
  readonly target: string
  /** Marks the field as the composer of its page. */
  readonly composer: string | undefined
  readonly onChange: (value: string) => void
}

function FormControl({ field, value, error, optional, disabled, target, composer, onChange }: ControlProps) {
  const common = {
    label: field.label,
    name: field.name,
    error,
    optional,
    required: field.required,
    disabled,
    value,
  }
  const count = counted(field, value)
  const hint = count && <span className={styles.counter}>{count}</span>
  switch (field.type) {
    case 'file':
      return <FileField {...common} target={target} onChange={onChange} />
    case 'textarea':
      return (
        <TextArea
          {...common}
          data-composer={composer}
          hint={hint}
          rows={5}
          placeholder={field.placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case 'select':
      return (
        <Select {...common} onChange={(event) => onChange(event.target.value)}>
          {!field.required && <option value="">{field.placeholder || texts.form.select}</option>}
          {field.options?.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </Select>
      )
    case 'date':
      return <TextField {...common} type="date" onChange={(event) => onChange(event.target.value)} />
    default:
      return (
        <TextField
          {...common}
          data-composer={composer}
          hint={hint}
          inputMode={field.type === 'number' ? 'decimal' : 'text'}
          placeholder={field.placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

/** counted returns the character count of a long field, or of a short field that is nearly full. '' otherwise. */
function counted(field: FormField, value: string): string {
  const limit = limitOf(field)
  const length = value.length > limit / 2 ? lengthOf(value) : value.length
  const shown = field.type === 'textarea' ? length > 0 : length > limit * 0.8
  return shown ? texts.form.counter(length, limit) : ''
}
