import { useState } from 'react'
import { EndDialog } from '@/components/EndDialog'
import { ApiError, call, type ProjectDataSource } from '@/lib/api'
import { texts } from '../texts'

const words = texts.files.removing

interface RemoveDialogProps {
  readonly projectId: string
  readonly sources: readonly ProjectDataSource[]
  readonly onClose: () => void
}

/** RemoveDialog asks for confirmation, removes files from a project one after another, and shows the progress. */
export function RemoveDialog({ projectId, sources, onClose }: RemoveDialogProps) {
  const [done, setDone] = useState(0)
  const end = async () => {
    for (const [at, { id }] of sources.entries()) {
      await removeFile(projectId, id)
      setDone(at + 1)
    }
  }
  return (
    <EndDialog words={words} end={end} onClose={onClose}>
      <p>{words.body(sources.map(({ filename }) => filename))}</p>
      {done > 0 && <p role="status">{words.progress(done, sources.length)}</p>}
    </EndDialog>
  )
}

/** How long a removal waits when the server had too many calls, in milliseconds. The server counts for a minute. */
const REST_MS = 10_000

/** removeFile removes a file from a project. It ignores that another member has removed it already. */
async function removeFile(project_id: string, data_source_id: string): Promise<void> {
  try {
    await call('removeProjectDataSource', { project_id, data_source_id })
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    if (cause.status === 404) return
    if (cause.status !== 429) throw cause
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    await removeFile(project_id, data_source_id)
  }
}
