import { type FormEvent, useId, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Select, TextField } from '@/components/Field'
import type { Category } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
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
      await made.renameCategory(category.id, name)
      onClose()
    }, setError)
  }
  return (
    <Dialog
      title={words.renameOf(category.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="primary" type="submit" form={form} loading={busy}>
            {words.save}
          </Button>
        </>
      }
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
    </Dialog>
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
      await made.removeCategory(category.id, replacement)
      onClose()
    }, setError)
  return (
    <Dialog
      title={words.removing(category.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="danger" loading={busy} onClick={() => void remove()}>
            {words.remove}
          </Button>
        </>
      }
    >
      <div className={styles.dialog}>
        <p>{words.removeLead}</p>
        <Select
          label={words.replacement}
          value={replacement}
          error={error}
          onChange={(event) => setReplacement(event.target.value)}
        >
          {others.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      </div>
    </Dialog>
  )
}
