import { useQuery } from '@tanstack/react-query'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { IconButton } from '@/components/IconButton'
import { ErrorState } from '@/components/States'
import { type Category, call, firstErrorMessage } from '@/lib/api'
import { changeData } from '@/lib/api/queries'
import { toastFailure } from '@/lib/ui/toast'
import { useAction } from './actions'
import { RemoveCategory, RenameCategory } from './CategoryDialogs'
import styles from './Library.module.css'
import { allCategoriesQuery, refreshSkills } from './queries'
import { texts } from './texts'

const words = texts.category

/** Categories lets administrators order the categories of the organization and edit those created in the app. */
export function Categories() {
  const { data, isError, refetch } = useQuery(allCategoriesQuery)
  const moves = useRef({ last: Promise.resolve(), waiting: 0 })
  const [spoken, setSpoken] = useState('')
  if (isError) return <ErrorState onRetry={() => void refetch()} />
  if (data === undefined) return <p role="status">{texts.loading}</p>
  const move = (from: number, to: number) => {
    const order = [...data]
    order.splice(to, 0, ...order.splice(from, 1))
    changeData(allCategoriesQuery.queryKey, () => order)
    setSpoken(words.moved(data[from]?.name ?? '', to + 1, data.length))
    const { current } = moves
    current.waiting++
    current.last = current.last
      .then(
        async () =>
          void (await call('orderCategories', { body: { category_ids: order.map(({ id }) => id) } })),
      )
      .catch((cause) => toastFailure(firstErrorMessage(cause, texts.failed)))
      // Read the server's state only after the last pending move.
      .then(() => (--current.waiting === 0 ? refreshSkills() : undefined))
  }
  return (
    <>
      <p className={styles.lead}>{words.lead}</p>
      <ol className={styles.list} aria-label={texts.categories}>
        {data.map((category, at) => (
          <Line key={category.id} category={category} others={data} at={at} onMove={(to) => move(at, to)} />
        ))}
      </ol>
      <p className="visually-hidden" role="status">
        {spoken}
      </p>
      <AddCategory />
    </>
  )
}

interface LineProps {
  readonly category: Category
  readonly others: readonly Category[]
  readonly at: number
  readonly onMove: (to: number) => void
}

function Line({ category, others, at, onMove }: LineProps) {
  const [dialog, setDialog] = useState<'rename' | 'remove' | null>(null)
  const { name, editable } = category
  const close = () => setDialog(null)
  return (
    <li className={styles.category}>
      <span className={styles.moves}>
        <IconButton
          size="sm"
          label={words.up(name)}
          aria-disabled={at === 0}
          onClick={() => at > 0 && onMove(at - 1)}
        >
          <ArrowUp size={16} />
        </IconButton>
        <IconButton
          size="sm"
          label={words.down(name)}
          aria-disabled={at === others.length - 1}
          onClick={() => at < others.length - 1 && onMove(at + 1)}
        >
          <ArrowDown size={16} />
        </IconButton>
      </span>
      <span className={styles.categoryName}>{name}</span>
      {editable ? (
        <span className={styles.actions}>
          <Button size="sm" aria-label={words.renameOf(name)} onClick={() => setDialog('rename')}>
            {words.rename}
          </Button>
          <Button
            size="sm"
            variant="quietDanger"
            aria-label={words.removeOf(name)}
            onClick={() => setDialog('remove')}
          >
            {words.remove}
          </Button>
        </span>
      ) : (
        <small>{words.standard}</small>
      )}
      {dialog === 'rename' && <RenameCategory category={category} onClose={close} />}
      {dialog === 'remove' && (
        <RemoveCategory category={category} others={others.filter((c) => c !== category)} onClose={close} />
      )}
    </li>
  )
}

function AddCategory() {
  const [name, setName] = useState('')
  const [error, setError] = useState<string>()
  const { busy, act } = useAction()
  const add = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '') return setError(words.required)
    void act(async () => {
      await call('createCategory', { body: { name } })
      setName('')
    }, setError)
  }
  return (
    <form className={styles.add} onSubmit={add} noValidate>
      <TextField
        label={words.name}
        hideLabel
        placeholder={words.placeholder}
        maxLength={12}
        value={name}
        error={error}
        onChange={(event) => {
          setName(event.target.value)
          setError(undefined)
        }}
      />
      <Button type="submit" size="lg" loading={busy}>
        {words.add}
      </Button>
    </form>
  )
}
