import { type FormEvent, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { TextField } from '@/components/Field'
import { call, firstErrorMessage } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import styles from '../members/Dialogs.module.css'
import { scimQuery } from '../queries'
import { scim } from '../texts'

const words = scim.tokens

/** Asks for the name of a new token, and creates it. */
export function NameDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (secret: string) => void
}) {
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<string>()
  const { busy, run } = useTask()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '') return setWrong(words.nameRequired)
    void run(
      async () => {
        const { token } = await call('addSCIMToken', { body: { name: name.trim() } })
        onCreated(token)
        await reload(scimQuery.queryKey)
      },
      (cause) => {
        setWrong(firstErrorMessage(cause))
        void reload(scimQuery.queryKey) // The token may have been created although the response is lost.
      },
    )
  }
  return (
    <ConfirmDialog
      title={words.create}
      confirm={words.submit}
      form="create-scim-token"
      busy={busy}
      onClose={onClose}
    >
      <form className={styles.body} id="create-scim-token" onSubmit={submit} noValidate>
        <TextField
          label={words.name}
          hint={words.nameHint}
          error={wrong}
          value={name}
          maxLength={50}
          autoComplete="off"
          autoFocus
          onChange={(event) => {
            setName(event.target.value)
            setWrong(undefined)
          }}
        />
      </form>
    </ConfirmDialog>
  )
}
