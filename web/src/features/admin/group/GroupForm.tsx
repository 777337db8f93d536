import { type FormEvent, useId, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText, TextArea, TextField } from '@/components/Field'
import { ApiError, call, errorMessage, type Group, type GroupPutRequest } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import { changesOf } from '../changes'
import styles from '../members/Dialogs.module.css'
import { typedTokens } from '../members/limit'
import { refreshGroups } from '../queries'
import { texts } from '../texts'

const words = texts.group.form

interface GroupValues {
  readonly name: string
  readonly description: string
  readonly limit: string
}

interface GroupFormProps {
  /** The group to edit; undefined for a new one. */
  group?: Group
  onSaved?: (group: Group) => void
  onClose: () => void
}

/** A dialog to create or edit a group. */
export function GroupForm({ group, onSaved, onClose }: GroupFormProps) {
  const [initial] = useState<GroupValues>({
    name: group?.name ?? '',
    description: group?.description ?? '',
    limit: group?.token_limit === undefined ? '' : String(group.token_limit),
  })
  const [values, setValues] = useState(initial)
  const [requestId] = useState(() => crypto.randomUUID())
  const [error, setError] = useState<unknown>(null)
  const { busy, run } = useTask()
  const form = useId()
  const provided = group?.source === 'scim'
  const set = (next: Partial<GroupValues>) => {
    setValues({ ...values, ...next })
    setError(null)
  }
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const { name, description } = values
    const limit = typedTokens(values.limit)
    if (name.trim() === '') return setError(invalid('name', words.nameRequired))
    if (values.limit.trim() !== '' && limit === undefined)
      return setError(invalid('token_limit', words.limitWrong))
    await run(async () => {
      const saved = group
        ? await call('editGroup', { group_id: group.id, body: requestOf(initial, values) })
        : await call('addGroup', {
            body: {
              name,
              description,
              ...(limit !== undefined && { token_limit: limit }),
              request_id: requestId,
            },
          })
      toast(group ? words.saved(saved.name) : words.created(saved.name), { tone: 'success' })
      onClose()
      onSaved?.(saved)
      void refreshGroups()
    }, setError)
  }
  return (
    <ConfirmDialog
      title={group ? words.edit : words.add}
      confirm={group ? words.save : words.create}
      form={form}
      busy={busy}
      onClose={onClose}
    >
      <form className={styles.body} id={form} noValidate onSubmit={(event) => void save(event)}>
        <TextField
          label={words.name}
          hint={provided && words.nameProvided}
          disabled={provided}
          value={values.name}
          maxLength={100}
          autoComplete="off"
          error={fieldOf(error, 'name')}
          onChange={(event) => set({ name: event.target.value })}
        />
        <TextArea
          label={words.description}
          optional
          value={values.description}
          maxLength={1000}
          error={fieldOf(error, 'description')}
          onChange={(event) => set({ description: event.target.value })}
        />
        <TextField
          label={words.limit}
          optional
          hint={words.limitHint}
          value={values.limit}
          inputMode="numeric"
          autoComplete="off"
          maxLength={30}
          error={fieldOf(error, 'token_limit')}
          onChange={(event) => set({ limit: event.target.value })}
        />
        <div role="alert">
          {error !== null && !(error instanceof ApiError && error.fields.length > 0) && (
            <FieldErrorText>{errorMessage(error)}</FieldErrorText>
          )}
        </div>
      </form>
    </ConfirmDialog>
  )
}

function requestOf(initial: GroupValues, values: GroupValues): GroupPutRequest {
  const { limit, ...changes } = changesOf(initial, values)
  return { ...changes, ...(limit !== undefined && { token_limit: typedTokens(limit) ?? null }) }
}

function invalid(field: string, message: string): ApiError {
  return new ApiError(400, { errors: [{ field, message }] })
}

function fieldOf(error: unknown, name: string): string | undefined {
  return error instanceof ApiError ? error.field(name) : undefined
}
