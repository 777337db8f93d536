import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText, TextField } from '@/components/Field'
import { ApiError, firstErrorMessage, type NewMember } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { refreshMembers } from '../../queries'
import { common, editing, inviting as words } from '../../texts'
import { inviteMembers } from '../changes'
import styles from '../Dialogs.module.css'
import { mayGrant } from '../may'
import { RoleSelect } from '../RoleSelect'
import { InviteFrame, type InviteProps } from './InviteFrame'
import { problemOf, tidy } from './invitees'

interface Errors {
  email?: string | undefined
  name?: string | undefined
  other?: string | undefined
}

/** Invites one person by fields. */
export function InviteOne({ me, ways, onClose }: InviteProps & { ways: ReactNode }) {
  const [person, setPerson] = useState<NewMember>({ email: '', name: '', role: 'general-user' })
  const [errors, setErrors] = useState<Errors>({})
  const [busy, setBusy] = useState(false)
  const email = useRef<HTMLInputElement>(null)
  const name = useRef<HTMLInputElement>(null)
  // The same key until the input changes, so that a retry of a call that may have succeeded has no effect.
  const key = useRef(crypto.randomUUID() as string)
  const form = useId()

  const set = (next: Partial<NewMember>) => {
    key.current = crypto.randomUUID()
    setPerson({ ...person, ...next })
    setErrors({})
  }
  const fail = (next: Errors) => {
    setErrors(next)
    setBusy(false)
    if (next.email) email.current?.focus()
    else if (next.name) name.current?.focus()
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const clean = { ...person, email: person.email.normalize('NFKC').trim(), name: tidy(person.name) }
    const wrong = check(clean, mayGrant(me))
    if (wrong) return fail(wrong)
    setBusy(true)
    try {
      const [answer] = await inviteMembers([clean], key.current)
      void refreshMembers()
      if (answer?.result === 'invited') {
        toast(words.invited(clean.name), { tone: 'success' })
        return onClose()
      }
      // A failed call is retried with a new key, because the server would repeat the stored result.
      key.current = crypto.randomUUID()
      fail({ email: `${words.results[answer?.result ?? 'failed']}。` })
    } catch (cause) {
      fail(errorsOf(cause))
    }
  }

  return (
    <InviteFrame
      ways={ways}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" form={form} loading={busy}>
            {words.submit}
          </Button>
        </>
      }
    >
      <form className={styles.fields} id={form} noValidate onSubmit={(event) => void submit(event)}>
        <TextField
          ref={email}
          label={words.email}
          type="email"
          inputMode="email"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder={words.emailPlaceholder}
          value={person.email}
          error={errors.email}
          onChange={(event) => set({ email: event.target.value })}
        />
        <TextField
          ref={name}
          label={words.name}
          autoComplete="off"
          placeholder={words.namePlaceholder}
          value={person.name}
          error={errors.name}
          onChange={(event) => set({ name: event.target.value })}
        />
        <RoleSelect
          me={me}
          label={words.role}
          hint={editing.roleHints[person.role]}
          value={person.role}
          onChange={(role) => set({ role })}
        />
        <div role="alert">{errors.other && <FieldErrorText>{errors.other}</FieldErrorText>}</div>
      </form>
    </InviteFrame>
  )
}

function check(person: NewMember, grant: boolean): Errors | null {
  if (person.email === '') return { email: words.emailRequired }
  if (person.name === '') return { name: words.nameRequired }
  const problem = problemOf(person, grant)
  if (problem === undefined) return null
  const aboutName = problem === words.errors.longName || problem === words.errors.badName
  return aboutName ? { name: problem } : { email: problem }
}

function errorsOf(cause: unknown): Errors {
  const fields = cause instanceof ApiError ? cause.fields : []
  const of = (name: string) => fields.find(({ field }) => field.endsWith(name))?.message
  const errors = { email: of('email'), name: of('name') }
  return errors.email || errors.name ? errors : { other: firstErrorMessage(cause) }
}
