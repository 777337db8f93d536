import { type FormEvent, useId, useState } from 'react'
import { Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText, PasswordField, Select, TextField } from '@/components/Field'
import { groupsQuery } from '@/entities/group/groups'
import {
  ApiError,
  call,
  errorMessage,
  type SkillGroup,
  type ToolServer,
  type ToolServerAuth,
  type ToolServerPutRequest,
} from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import { changesOf } from '../changes'
import styles from '../members/Dialogs.module.css'
import { storeToolServer } from '../queries'
import { tools } from '../texts'
import tool from './Tools.module.css'

const words = tools.form
const auths: readonly ToolServerAuth[] = ['none', 'header', 'oauth']
const required = ['name', 'url', 'key'] as const

interface Values {
  key: string
  name: string
  url: string
  auth: ToolServerAuth
  headerName: string
  clientId: string
  secret: string
  enabled: boolean
  everyone: boolean
  groups: readonly SkillGroup[]
}

interface FieldsProps {
  values: Values
  server: ToolServer | undefined
  errorOf: (field: string) => string | undefined
  set: (change: Partial<Values>) => void
}

/** A dialog to add a server, or to edit one. */
export function ServerForm({ server, onClose }: { server?: ToolServer; onClose: () => void }) {
  const [values, setValues] = useState(() => valuesOf(server))
  const [error, setError] = useState<unknown>(null)
  const { busy, run } = useTask()
  const form = useId()
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const missing = required.filter((field) => values[field].trim() === '')
    if (missing.length > 0) return setError(new ApiError(400, { errors: missing.map(missingError) }))
    await run(async () => {
      const saved = server
        ? await call('editToolServer', { tool_server_id: server.id, body: changesTo(server, values) })
        : await call('addToolServer', { body: { key: values.key, ...bodyOf(values) } })
      await storeToolServer(saved)
      toast(server ? words.saved(saved.name) : words.created(saved.name), { tone: 'success' })
      onClose()
    }, setError)
  }
  const fields: FieldsProps = {
    values,
    server,
    errorOf: (field) => (error instanceof ApiError ? error.field(field) : undefined),
    set: (change) => {
      setValues({ ...values, ...change })
      setError(null)
    },
  }
  return (
    <ConfirmDialog
      title={server ? words.edit : words.add}
      confirm={server ? words.save : words.create}
      form={form}
      busy={busy}
      onClose={onClose}
    >
      <form className={styles.body} id={form} noValidate onSubmit={(event) => void save(event)}>
        <Place {...fields} />
        <SignIn {...fields} />
        <Audience {...fields} />
        <div role="alert">
          {error !== null && !(error instanceof ApiError && error.fields.length > 0) && (
            <FieldErrorText>{errorMessage(error)}</FieldErrorText>
          )}
        </div>
      </form>
    </ConfirmDialog>
  )
}

const missingError = (field: (typeof required)[number]) => ({ field, message: words.required(words[field]) })

function valuesOf(server: ToolServer | undefined): Values {
  return {
    key: server?.key ?? '',
    name: server?.name ?? '',
    url: server?.url ?? '',
    auth: server?.auth ?? 'none',
    headerName: server?.header_name ?? '',
    clientId: server?.client_id ?? '',
    secret: '',
    enabled: server?.enabled ?? true,
    everyone: server?.everyone ?? true,
    groups: server?.groups ?? [],
  }
}

/** bodyOf returns the body of a call. An empty secret keeps the stored one. */
function bodyOf(values: Values) {
  return {
    name: values.name,
    url: values.url,
    auth: values.auth,
    ...(values.auth === 'header' && { header_name: values.headerName }),
    ...(values.auth === 'oauth' && { client_id: values.clientId }),
    ...(values.auth !== 'none' && values.secret !== '' && { secret: values.secret }),
    ...audienceOf(values),
  }
}

const audienceOf = ({ everyone, groups }: Pick<Values, 'everyone' | 'groups'>) => ({
  everyone,
  group_ids: everyone ? [] : groups.map(({ id }) => id),
})

/** changesTo returns the body of a change of a server. The two fields of its audience are changed together. */
function changesTo(server: ToolServer, values: Values): ToolServerPutRequest {
  const before = { ...server, ...audienceOf(server) }
  const body = changesOf<ToolServerPutRequest>(before, { ...bodyOf(values), enabled: values.enabled })
  return body.everyone === undefined && body.group_ids === undefined
    ? body
    : { ...body, ...audienceOf(values) }
}

function Place({ values, server, errorOf, set }: FieldsProps) {
  return (
    <>
      <TextField
        label={words.name}
        value={values.name}
        maxLength={100}
        autoComplete="off"
        error={errorOf('name')}
        onChange={(event) => set({ name: event.target.value })}
      />
      <TextField
        label={words.url}
        hint={words.urlHint}
        type="url"
        value={values.url}
        maxLength={2048}
        autoComplete="off"
        error={errorOf('url')}
        onChange={(event) => set({ url: event.target.value })}
      />
      {!server && (
        <TextField
          label={words.key}
          hint={words.keyHint}
          value={values.key}
          maxLength={24}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          error={errorOf('key')}
          onChange={(event) => set({ key: event.target.value })}
        />
      )}
    </>
  )
}

function SignIn({ values, server, errorOf, set }: FieldsProps) {
  const kept = server?.has_secret && server.auth === values.auth
  return (
    <>
      <Select
        label={words.auth}
        value={values.auth}
        error={errorOf('auth')}
        onChange={(event) => set({ auth: event.target.value as ToolServerAuth, secret: '' })}
        options={auths.map((auth) => [auth, tools.server.auths[auth]])}
      />
      {values.auth === 'header' && (
        <TextField
          label={words.headerName}
          hint={words.headerHint}
          value={values.headerName}
          maxLength={64}
          autoComplete="off"
          error={errorOf('header_name')}
          onChange={(event) => set({ headerName: event.target.value })}
        />
      )}
      {values.auth === 'oauth' && (
        <TextField
          label={words.clientId}
          hint={words.clientHint}
          optional
          value={values.clientId}
          maxLength={512}
          autoComplete="off"
          error={errorOf('client_id')}
          onChange={(event) => set({ clientId: event.target.value })}
        />
      )}
      {(values.auth === 'header' || (values.auth === 'oauth' && values.clientId !== '')) && (
        <PasswordField
          label={values.auth === 'header' ? words.headerValue : words.clientSecret}
          hint={kept ? words.kept : values.auth === 'header' && words.headerValueHint}
          value={values.secret}
          maxLength={4096}
          autoComplete="off"
          error={errorOf('secret')}
          onChange={(event) => set({ secret: event.target.value })}
        />
      )}
    </>
  )
}

function Audience({ values, server, errorOf, set }: FieldsProps) {
  return (
    <>
      <Select
        label={words.audience}
        value={values.everyone ? 'everyone' : 'groups'}
        onChange={(event) => set({ everyone: event.target.value === 'everyone' })}
      >
        <option value="everyone">{words.everyone}</option>
        <option value="groups">{words.someGroups}</option>
      </Select>
      {!values.everyone && (
        <Chooser
          words={words.groups}
          query={groupsQuery}
          chosen={values.groups}
          error={errorOf('group_ids')}
          onChange={(groups) => set({ groups })}
        />
      )}
      {server && (
        <label className={tool.check}>
          <Checkbox checked={values.enabled} onChange={(event) => set({ enabled: event.target.checked })} />
          {words.enabled}
        </label>
      )}
    </>
  )
}
