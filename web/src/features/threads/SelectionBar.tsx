import { Button } from '@/components/Button'
import { archiveThreads, useDeleteThreads } from '@/entities/thread/threads'
import styles from './ThreadColumn.module.css'
import { texts } from './texts'

/** The actions on the selected threads. */
export function SelectionBar({
  ids,
  archived,
  onDone,
}: {
  ids: ReadonlySet<string>
  /** The archive is shown: its threads can be restored. */
  archived: boolean
  onDone: () => void
}) {
  const deleteThreads = useDeleteThreads()
  const all = [...ids]
  const none = all.length === 0
  const remove = () => {
    deleteThreads(all)
    onDone()
  }
  return (
    <div className={styles.selection} role="group" aria-label={texts.chosen(all.length)}>
      <p role="status">{texts.chosen(all.length)}</p>
      <Button
        size="sm"
        disabled={none}
        onClick={() => {
          void archiveThreads(all, !archived)
          onDone()
        }}
      >
        {archived ? texts.restore : texts.archive}
      </Button>
      <Button size="sm" onClick={onDone}>
        {texts.cancel}
      </Button>
      <Button size="sm" variant="quietDanger" disabled={none} onClick={remove}>
        {texts.delete}
      </Button>
    </div>
  )
}
