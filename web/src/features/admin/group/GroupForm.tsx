import { useState } from 'react'
import { useNavigate } from 'react-router'
import { TextArea, TextField } from '@/components/Field'
import { call, errorsByField, type Group } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import { type FormErrors, fieldOf, useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { changesOf } from '../changes'
import { typedTokens } from '../members/limit'
import { FormDialog } from '../parts/FormDialog'
import { refreshGroups } from '../queries'
import { group } from '../texts'

const words = group.form

const names = ['name', 'description', 'token_limit'] as const

type GroupValues = Record<(typeof names)[number], string>

/** A dialog to edit a group, or to create one and open it. */
export function GroupForm({ group, onClose }: { group?: Group; onClose: () => void }) {
  const navigate = useNavigate()
  const [initial] = useState<GroupValues>({
    name: group?.name ?? '',
    description: group?.description ?? '',
    token_limit: group?.token_limit === undefined ? '' : String(group.token_limit),
  })
  const requestId = useRequestId()
  const { values, errors, change, ...form } = useForm({
    initial: () => initial,
    check: checkValues,
    send: async (values) => {
      const tokens = typedTokens(values.token_limit)
      const { token_limit, ...changes } = changesOf(initial, values)
      const limit = token_limit !== undefined && { token_limit: tokens ?? null }
      const { name, description } = values
      const made = { name, description, ...(tokens && { token_limit: tokens }) }
      const saved = group
        ? await call('editGroup', { group_id: group.id, body: { ...changes, ...limit } })
        : await call('addGroup', { body: { ...made, request_id: requestId(values) } })
      toast(group ? words.saved(saved.name) : words.created(saved.name), { tone: 'success' })
      onClose()
      if (!group) void navigate(`/admin/group/${saved.id}`)
      void refreshGroups()
    },
    explain: (cause) => errorsByField(cause, (field) => names.find((name) => name === field)),
  })
  const fields = { values, errors, onChange: change }
  const provided = group?.source === 'scim'
  return (
    <FormDialog
      title={group ? words.edit : words.add}
      submit={group ? words.save : words.create}
      form={form}
      onClose={onClose}
    >
      <TextField
        label={words.name}
        hint={provided && words.nameProvided}
        disabled={provided}
        maxLength={100}
        autoComplete="off"
        {...fieldOf(fields, 'name')}
      />
      <TextArea label={words.description} optional maxLength={1000} {...fieldOf(fields, 'description')} />
      <TextField
        label={words.limit}
        optional
        hint={words.limitHint}
        inputMode="numeric"
        autoComplete="off"
        maxLength={30}
        {...fieldOf(fields, 'token_limit')}
      />
    </FormDialog>
  )
}

function checkValues({ name, token_limit }: GroupValues): FormErrors<GroupValues> {
  if (name.trim() === '') return { name: words.nameRequired }
  const wrong = token_limit.trim() !== '' && typedTokens(token_limit) === undefined
  return wrong ? { token_limit: words.limitWrong } : {}
}
