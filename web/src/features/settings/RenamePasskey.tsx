import { type FormEvent, useId, useRef, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { TextField } from '@/components/Field'
import { identityMessage } from '@/entities/identity/identityMessages'
import { MAX_PASSKEY_NAME, type Passkey, renamePasskey } from '@/entities/identity/passkey'
import { freshToken } from '@/entities/session/session'
import { useTask } from '@/lib/ui/task'
import styles from './FactorPage.module.css'
import { texts } from './texts'

const words = texts.passkeys

interface RenamePasskeyProps {
  passkey: Passkey
  onRenamed: () => void
  onClose: () => void
}

/** RenamePasskey asks for another name of a passkey. */
export function RenamePasskey({ passkey, onRenamed, onClose }: RenamePasskeyProps) {
  const form = useId()
  const input = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const fail = (message: string) => {
    setError(message)
    input.current?.focus()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const name = input.current?.value.trim() ?? ''
    if (name === '') return fail(words.nameRequired)
    void run(
      async () => {
        await renamePasskey(await freshToken(), passkey.id, name)
        onRenamed()
      },
      (cause) => fail(identityMessage(cause)),
    )
  }
  return (
    <ConfirmDialog {...words.renameDialog} busy={busy} form={form} onClose={onClose}>
      <form id={form} className={styles.rename} noValidate onSubmit={submit}>
        <TextField
          ref={input}
          label={words.name}
          hint={words.nameHint}
          error={error}
          name="passkey-name"
          autoComplete="off"
          maxLength={MAX_PASSKEY_NAME}
          defaultValue={passkey.name}
          onChange={() => setError(undefined)}
        />
      </form>
    </ConfirmDialog>
  )
}
