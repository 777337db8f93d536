import { type FormEvent, useId } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { TextField } from '@/components/Field'
import { identityMessage } from '@/entities/identity/identityMessages'
import { MAX_PASSKEY_NAME, type Passkey, renamePasskey } from '@/entities/identity/passkey'
import { freshToken } from '@/entities/session/session'
import { useInputs } from '@/lib/ui/inputs'
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
  const { busy, fail, field, value, run } = useInputs<'name'>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const name = value('name').trim()
    if (name === '') return fail('name', words.nameRequired)
    const rename = async () => {
      await renamePasskey(await freshToken(), passkey.id, name)
      onRenamed()
    }
    void run(rename, (cause) => ['name', identityMessage(cause)])
  }
  return (
    <ConfirmDialog {...words.renameDialog} busy={busy} form={form} onClose={onClose}>
      <form id={form} className={styles.rename} noValidate onSubmit={submit}>
        <TextField
          {...field('name')}
          label={words.name}
          hint={words.nameHint}
          name="passkey-name"
          autoComplete="off"
          maxLength={MAX_PASSKEY_NAME}
          defaultValue={passkey.name}
        />
      </form>
    </ConfirmDialog>
  )
}
