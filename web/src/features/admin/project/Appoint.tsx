import { useState } from 'react'
import { type Choosable, Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { call, firstErrorMessage, type ManagedProject } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from '../members/Dialogs.module.css'
import { peopleQuery, refreshProjects } from '../queries'
import { projects } from '../texts'

const words = projects.appointing

/** Appoint is the dialog to name a manager of a project without one. */
export function Appoint({ project, onClose }: { project: ManagedProject; onClose: () => void }) {
  const [chosen, setChosen] = useState<readonly Choosable[]>([])
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const appoint = ({ id, name }: Choosable) =>
    run(
      async () => {
        await call('nameProjectManager', { project_id: project.id, body: { user_id: id } })
        toast(words.done(name), { tone: 'success' })
        onClose()
        await refreshProjects()
      },
      (cause) => setError(firstErrorMessage(cause)),
    )
  return (
    <ConfirmDialog
      title={words.title(project.name)}
      confirm={words.submit}
      busy={busy}
      onConfirm={() => (chosen[0] ? void appoint(chosen[0]) : setError(words.choose.label))}
      onClose={onClose}
    >
      <div className={styles.body}>
        <Chooser
          words={words.choose}
          query={peopleQuery}
          chosen={chosen}
          error={error}
          onChange={(next) => {
            setChosen(next.slice(-1))
            setError(undefined)
          }}
        />
      </div>
    </ConfirmDialog>
  )
}
