import { type ReactNode, useState } from 'react'
import { type Choosable, Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
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
    readonly lead?: string
    readonly choose: { label: string; search: string; none: string }
    readonly submit: (count: number) => string
  }
  /** The query of the items that match a search text. */
  readonly query: (search: string) => ListQuery<T>
  /** Adds the items, and returns the message about that. */
  readonly onSubmit: (chosen: readonly T[]) => Promise<string>
  readonly onClose: () => void
  /** Further fields. */
  readonly children?: ReactNode
}

/** ChooseDialog is a dialog to add chosen items to the project. */
export function ChooseDialog<T extends Choosable>(props: ChooseDialogProps<T>) {
  const { words, query, onSubmit, onClose, children } = props
  const [chosen, setChosen] = useState<readonly T[]>([])
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
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
    <ConfirmDialog
      title={words.title}
      wide
      confirm={words.submit(chosen.length)}
      busy={busy}
      onConfirm={() => (chosen.length > 0 ? void submit() : setError(texts.choose(words.choose.label)))}
      onClose={onClose}
    >
      <div className={styles.body}>
        {words.lead && <p>{words.lead}</p>}
        <Chooser
          words={words.choose}
          query={(search) => ({ ...query(search), staleTime: 0 })}
          chosen={chosen}
          error={error}
          onChange={(next) => {
            setChosen(next)
            setError(undefined)
          }}
        />
        {children}
      </div>
    </ConfirmDialog>
  )
}
