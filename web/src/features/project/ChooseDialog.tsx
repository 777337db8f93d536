import { type ReactNode, useState } from 'react'
import { Button } from '@/components/Button'
import { type Choosable, Chooser } from '@/components/Chooser'
import { Dialog } from '@/components/Dialog'
import { refreshProjects } from '@/entities/project/projects'
import { firstErrorMessage } from '@/lib/api'
import type { ListQuery } from '@/lib/api/lists'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './Project.module.css'
import { texts } from './texts'

interface ChooseDialogProps<T extends Choosable> {
  readonly words: {
    readonly title: string
    readonly choose: { label: string; search: string; none: string }
    readonly submit: (count: number) => string
  }
  /** The query of the items that match a search text. */
  readonly query: (search: string) => ListQuery<T>
  readonly lead?: string
  /** Adds the items, and returns the message about that. */
  readonly onSubmit: (chosen: readonly T[]) => Promise<string>
  readonly onClose: () => void
  /** Further fields. */
  readonly children?: ReactNode
}

/** The API's maximum number of files in one call. */
const MOST = 100

/** ChooseDialog is a dialog to add chosen items to the project. */
export function ChooseDialog<T extends Choosable>(props: ChooseDialogProps<T>) {
  const { words, query, lead, onSubmit, onClose, children } = props
  const [chosen, setChosen] = useState<readonly T[]>([])
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const many = chosen.length > MOST
  const submit = () =>
    run(
      async () => {
        toast(await onSubmit(chosen), { tone: 'success' })
        onClose()
        await refreshProjects()
      },
      (cause) => setError(firstErrorMessage(cause)),
    )
  return (
    <Dialog
      title={words.title}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button
            variant="primary"
            disabled={chosen.length === 0 || many}
            loading={busy}
            onClick={() => void submit()}
          >
            {words.submit(chosen.length)}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        {lead && <p>{lead}</p>}
        <Chooser
          words={words.choose}
          query={query}
          chosen={chosen}
          error={many ? texts.most(MOST) : error}
          onChange={(next) => {
            setChosen(next)
            setError(undefined)
          }}
        />
        {children}
      </div>
    </Dialog>
  )
}
