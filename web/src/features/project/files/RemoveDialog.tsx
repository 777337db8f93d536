import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { call, type ProjectDataSource } from '@/lib/api'
import { removeAll } from '@/lib/api/removeAll'
import { texts } from '../texts'

const words = texts.files.removing

interface RemoveDialogProps {
  readonly projectId: string
  readonly sources: readonly ProjectDataSource[]
  readonly onClose: () => void
}

/** RemoveDialog asks for confirmation, removes files from a project, and shows the progress. */
export function RemoveDialog({ projectId, sources, onClose }: RemoveDialogProps) {
  const [done, setDone] = useState(0)
  const end = async () => {
    const { failed } = await removeAll(
      new Set(sources.map(({ id }) => id)),
      (id) => call('removeProjectDataSource', { project_id: projectId, data_source_id: id }),
      { onRemoved: setDone },
    )
    if (failed.length > 0) throw new Error('some files were not removed')
  }
  return (
    <EndDialog words={words} end={end} onClose={onClose}>
      <p>{words.body(sources.map(({ filename }) => filename))}</p>
      {done > 0 && <p role="status">{words.progress(done, sources.length)}</p>}
    </EndDialog>
  )
}
