import { type FormEvent, useId, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Select, TextField } from '@/components/Field'
import { type Category, call } from '@/lib/api'
import { useAction } from './actions'
import styles from './Library.module.css'
import { texts } from './texts'

const words = texts.category

interface CategoryDialogProps {
  readonly category: Category
  readonly onClose: () => void
}

/** RenameCategory renames a category. */
export function RenameCategory({ category, onClose }: CategoryDialogProps) {
  const [name, setName] = useState(category.name)
  const [error, setError] = useState<string>()
  const { busy, act } = useAction()
  const form = useId()
  const rename = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '') return setError(words.required)
    void act(async () => {
      await call('renameCategory', { category_id: category.id, body: { name } })
      onClose()
    }, setError)
  }
  return (
    <ConfirmDialog
      title={words.renameOf(category.name)}
      confirm={words.save}
      form={form}
      busy={busy}
      onClose={onClose}
    >
      <form className={styles.dialog} id={form} onSubmit={rename} noValidate>
        <TextField
          label={words.name}
          maxLength={12}
          value={name}
          error={error}
          onChange={(event) => {
            setName(event.target.value)
            setError(undefined)
          }}
        />
      </form>
    </ConfirmDialog>
  )
}

/** RemoveCategory removes a category after asking for the new category of its skills. */
export function RemoveCategory({
  category,
  others,
  onClose,
}: CategoryDialogProps & { others: readonly Category[] }) {
  const [replacement, setReplacement] = useState(others[0]?.id ?? '')
  const [error, setError] = useState<string>()
  const { busy, act } = useAction()
  const remove = () =>
    act(async () => {
      await call('removeCategory', { category_id: category.id, replacement_id: replacement })
      onClose()
    }, setError)
  return (
    <ConfirmDialog
      title={words.removing(category.name)}
      confirm={`${words.remove}する`}
      danger
      busy={busy}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <div className={styles.dialog}>
        <p>{words.removeLead}</p>
        <Select
          label={words.replacement}
          value={replacement}
          error={error}
          onChange={(event) => setReplacement(event.target.value)}
          options={others.map(({ id, name }) => [id, name])}
        />
      </div>
    </ConfirmDialog>
  )
}
