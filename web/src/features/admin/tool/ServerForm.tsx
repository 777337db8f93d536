import { Chooser } from '@/components/Chooser'
import { PasswordField, Select, TextField } from '@/components/Field'
import { groupsQuery } from '@/entities/group/groups'
import {
  call,
  errorsByField,
  type SkillGroup,
  type ToolServer,
  type ToolServerAuth,
  type ToolServerPutRequest,
} from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { type Fields, fieldOf, useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { changesOf } from '../changes'
import { FormDialog } from '../parts/FormDialog'
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
  header_name: string
  client_id: string
  secret: string
  enabled: boolean
  everyone: boolean
  groups: readonly SkillGroup[]
}

interface FieldsProps {
  server: ToolServer | undefined
  fields: Fields<Values>
}

/** A dialog to add a server, or to edit one. */
export function ServerForm({ server, onClose }: { server?: ToolServer; onClose: () => void }) {
  const { values, errors, change, ...form } = useForm<Values>({
    initial: () => valuesOf(server),
    check: (next) => {
      const missing = required.filter((name) => next[name].trim() === '')
      return Object.fromEntries(missing.map((name) => [name, words.required(words[name])]))
    },
    send: async (next) => {
      const saved = server
        ? await call('editToolServer', { tool_server_id: server.id, body: changesTo(server, next) })
        : await call('addToolServer', { body: { key: next.key, ...bodyOf(next) } })
      await storeToolServer(saved)
      toast(server ? words.saved(saved.name) : words.created(saved.name), { tone: 'success' })
      onClose()
    },
    explain: (cause) => errorsByField(cause, nameOf),
  })
  const props = { server, fields: { values, errors, onChange: change } }
  return (
    <FormDialog
      title={server ? words.edit : words.add}
      submit={server ? words.save : words.create}
      form={form}
      onClose={onClose}
    >
      <Place {...props} />
      <SignIn {...props} />
      <Audience {...props} />
    </FormDialog>
  )
}

const shown = ['key', 'name', 'url', 'auth', 'header_name', 'client_id', 'secret'] as const

/** nameOf returns the name of the value that is sent in a field of the request. */
function nameOf(field: string): keyof Values | undefined {
  return field === 'group_ids' ? 'groups' : shown.find((name) => name === field)
}

function valuesOf(server: ToolServer | undefined): Values {
  return {
    key: server?.key ?? '',
    name: server?.name ?? '',
    url: server?.url ?? '',
    auth: server?.auth ?? 'none',
    header_name: server?.header_name ?? '',
    client_id: server?.client_id ?? '',
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
    ...(values.auth === 'header' && { header_name: values.header_name }),
    ...(values.auth === 'oauth' && { client_id: values.client_id }),
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

function Place({ server, fields }: FieldsProps) {
  return (
    <>
      <TextField label={words.name} maxLength={100} autoComplete="off" {...fieldOf(fields, 'name')} />
      <TextField
        label={words.url}
        hint={words.urlHint}
        type="url"
        maxLength={2048}
        autoComplete="off"
        {...fieldOf(fields, 'url')}
      />
      {!server && (
        <TextField
          label={words.key}
          hint={words.keyHint}
          maxLength={24}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          {...fieldOf(fields, 'key')}
        />
      )}
    </>
  )
}

function SignIn({ server, fields }: FieldsProps) {
  const { auth, client_id } = fields.values
  const kept = server?.has_secret && server.auth === auth
  return (
    <>
      <Select
        label={words.auth}
        {...fieldOf(fields, 'auth')}
        onChange={(event) => fields.onChange({ auth: event.target.value as ToolServerAuth, secret: '' })}
        options={auths.map((name) => [name, tools.server.auths[name]])}
      />
      {auth === 'header' && (
        <TextField
          label={words.headerName}
          hint={words.headerHint}
          maxLength={64}
          autoComplete="off"
          {...fieldOf(fields, 'header_name')}
        />
      )}
      {auth === 'oauth' && (
        <TextField
          label={words.clientId}
          hint={words.clientHint}
          optional
          maxLength={512}
          autoComplete="off"
          {...fieldOf(fields, 'client_id')}
        />
      )}
      {(auth === 'header' || (auth === 'oauth' && client_id !== '')) && (
        <PasswordField
          label={auth === 'header' ? words.headerValue : words.clientSecret}
          hint={kept ? words.kept : auth === 'header' && words.headerValueHint}
          maxLength={4096}
          autoComplete="off"
          {...fieldOf(fields, 'secret')}
        />
      )}
    </>
  )
}

function Audience({ server, fields: { values, errors, onChange } }: FieldsProps) {
  return (
    <>
      <Select
        label={words.audience}
        value={values.everyone ? 'everyone' : 'groups'}
        onChange={(event) => onChange({ everyone: event.target.value === 'everyone' })}
        options={[
          ['everyone', words.everyone],
          ['groups', words.someGroups],
        ]}
      />
      {!values.everyone && (
        <Chooser
          words={words.groups}
          query={groupsQuery}
          chosen={values.groups}
          error={errors.groups}
          onChange={(groups) => onChange({ groups })}
        />
      )}
      {server && (
        <label className={tool.check}>
          <Checkbox
            checked={values.enabled}
            onChange={(event) => onChange({ enabled: event.target.checked })}
          />
          {words.enabled}
        </label>
      )}
    </>
  )
}
