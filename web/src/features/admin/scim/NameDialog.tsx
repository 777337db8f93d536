import { TextField } from '@/components/Field'
import { call, firstErrorMessage } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { fieldOf, useForm } from '@/lib/ui/form'
import { FormDialog } from '../parts/FormDialog'
import { scimQuery } from '../queries'
import { scim } from '../texts'

const words = scim.tokens

interface NameDialogProps {
  onClose: () => void
  onCreated: (secret: string) => void
}

/** Asks for the name of a new token, and creates it. */
export function NameDialog({ onClose, onCreated }: NameDialogProps) {
  const { values, errors, change, ...form } = useForm({
    initial: () => ({ name: '' }),
    check: ({ name }) => (name.trim() === '' ? { name: words.nameRequired } : {}),
    send: async ({ name }) => {
      const { token } = await call('addSCIMToken', { body: { name: name.trim() } })
      onCreated(token)
      await reload(scimQuery.queryKey)
    },
    explain: (cause) => {
      void reload(scimQuery.queryKey) // The token may have been created although the response is lost.
      return { errors: { name: firstErrorMessage(cause) }, rest: '' }
    },
  })
  return (
    <FormDialog title={words.create} submit={words.submit} form={form} onClose={onClose}>
      <TextField
        label={words.name}
        hint={words.nameHint}
        maxLength={50}
        autoComplete="off"
        autoFocus
        {...fieldOf({ values, errors, onChange: change }, 'name')}
      />
    </FormDialog>
  )
}
