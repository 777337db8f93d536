import { type ReactNode, useId, useRef } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText, TextField } from '@/components/Field'
import { ApiError, errorsByField, type NewMember } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import { type FormErrors, fieldOf, useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { refreshMembers } from '../../queries'
import { common, editing, inviting as words } from '../../texts'
import { inviteMembers } from '../changes'
import styles from '../Dialogs.module.css'
import { mayGrant } from '../may'
import { RoleSelect } from '../RoleSelect'
import { InviteFrame, type InviteProps } from './InviteFrame'
import { problemOf, tidy } from './invitees'

const names = ['email', 'name'] as const

/** Invites one person by fields. */
export function InviteOne({ me, ways, onClose }: InviteProps & { ways: ReactNode }) {
  const id = useId()
  const requestId = useRequestId()
  const attempt = useRef(0)
  const { values, errors, rest, busy, change, form } = useForm<NewMember>({
    initial: () => ({ email: '', name: '', role: 'general-user' }),
    check: (next) => check(tidied(next), mayGrant(me)),
    send: async (next) => {
      const person = tidied(next)
      const [answer] = await inviteMembers([person], requestId([attempt.current, person]))
      void refreshMembers()
      if (answer?.result !== 'invited') {
        // A failed call is retried with a new key, because the server would repeat the stored result.
        attempt.current += 1
        const message = `${words.results[answer?.result ?? 'failed']}。`
        throw new ApiError(400, { errors: [{ field: 'email', message }] })
      }
      toast(words.invited(person.name), { tone: 'success' })
      onClose()
    },
    explain: (cause) => errorsByField(cause, (field) => names.find((name) => field.endsWith(name))),
  })
  const fields = { values, errors, onChange: change }

  return (
    <InviteFrame
      ways={ways}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" form={id} loading={busy}>
            {words.submit}
          </Button>
        </>
      }
    >
      <form className={styles.fields} id={id} {...form}>
        <TextField
          label={words.email}
          type="email"
          inputMode="email"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder={words.emailPlaceholder}
          {...fieldOf(fields, 'email')}
        />
        <TextField
          label={words.name}
          autoComplete="off"
          placeholder={words.namePlaceholder}
          {...fieldOf(fields, 'name')}
        />
        <RoleSelect
          me={me}
          label={words.role}
          hint={editing.roleHints[values.role]}
          {...fieldOf(fields, 'role')}
        />
        <div role="alert">{rest && <FieldErrorText>{rest}</FieldErrorText>}</div>
      </form>
    </InviteFrame>
  )
}

function tidied({ email, name, role }: NewMember): NewMember {
  return { email: email.normalize('NFKC').trim(), name: tidy(name), role }
}

function check(person: NewMember, grant: boolean): FormErrors<NewMember> {
  if (person.email === '') return { email: words.emailRequired }
  if (person.name === '') return { name: words.nameRequired }
  const problem = problemOf(person, grant)
  if (problem === undefined) return {}
  const aboutName = problem === words.errors.longName || problem === words.errors.badName
  return aboutName ? { name: problem } : { email: problem }
}
