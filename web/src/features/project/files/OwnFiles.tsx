import type { Choosable } from '@/components/Chooser'
import { formatSize, kindOf } from '@/entities/source/files'
import { call } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { ChooseDialog } from '../ChooseDialog'
import { useProject } from '../project'
import { PAGE } from '../queries'
import { texts } from '../texts'

/** OwnFiles is the dialog to share the user's own files with the project. */
export function OwnFiles({ onClose }: { onClose: () => void }) {
  const { id } = useProject()
  const share = async (chosen: readonly Choosable[]) => {
    const body = { data_source_ids: chosen.map((file) => file.id) }
    const { added = 0 } = await call('addProjectDataSources', { project_id: id, body })
    return texts.own.done(added, chosen.length - added)
  }
  return <ChooseDialog words={texts.own} query={ownFilesQuery} onSubmit={share} onClose={onClose} />
}

/** ownFilesQuery searches the user's own files. */
function ownFilesQuery(q: string) {
  return listQuery<Choosable>(['own-files', q], PAGE, async (page, signal) => {
    const { items } = await call('listDataSources', { q, ...page, signal })
    return {
      items: items.map(({ id, filename, size }) => ({
        id,
        name: filename,
        email: `${kindOf(filename)}・${formatSize(size)}`,
      })),
    }
  })
}
