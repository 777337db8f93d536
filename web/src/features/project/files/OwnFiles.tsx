import { useState } from 'react'
import { Button } from '@/components/Button'
import { type Choosable, Chooser } from '@/components/Chooser'
import { Dialog } from '@/components/Dialog'
import { refreshProjects } from '@/entities/project/projects'
import { formatSize, kindOf } from '@/entities/source/files'
import { call, firstErrorMessage } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from '../Project.module.css'
import { useProject } from '../project'
import { PAGE } from '../queries'
import { texts } from '../texts'

const words = texts.own

/** The API's maximum number of files in one call. */
const MOST = 100

/** OwnFiles is the dialog to share the user's own files with the project. */
export function OwnFiles({ onClose }: { onClose: () => void }) {
  const { id } = useProject()
  const [chosen, setChosen] = useState<readonly Choosable[]>([])
  const [error, setError] = useState<string>()
  const { busy, run } = useTask()
  const many = chosen.length > MOST
  const share = () =>
    run(
      async () => {
        const body = { data_source_ids: chosen.map((file) => file.id) }
        await call('addProjectDataSources', { project_id: id, body })
        toast(words.done(chosen.length), { tone: 'success' })
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
            onClick={() => void share()}
          >
            {words.submit(chosen.length)}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{words.lead}</p>
        <Chooser
          words={words}
          query={ownFilesQuery}
          chosen={chosen}
          error={many ? words.most(MOST) : error}
          onChange={(next) => {
            setChosen(next)
            setError(undefined)
          }}
        />
      </div>
    </Dialog>
  )
}

/** ownFilesQuery searches the user's own files. */
function ownFilesQuery(q: string) {
  return listQuery<Choosable>(['own-files', q], PAGE, async (page, signal) => {
    const { items } = await call('listDataSources', { ...(q && { q }), ...page, signal })
    return {
      items: items.map(({ id, filename, size }) => ({
        id,
        name: filename,
        email: `${kindOf(filename)}・${formatSize(size)}`,
      })),
    }
  })
}
