import type { Choosable } from '@/components/Chooser'
import { formatSize, kindOf } from '@/entities/source/files'
import { call } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { ChooseDialog } from '../ChooseDialog'
import { useProject } from '../project'
import { PAGE } from '../queries'
import { texts } from '../texts'

const words = texts.own

/** OwnFiles is the dialog to share the user's own files with the project. */
export function OwnFiles({ onClose }: { onClose: () => void }) {
  const { id } = useProject()
  return (
    <ChooseDialog
      words={words}
      lead={words.lead}
      query={ownFilesQuery}
      onSubmit={async (chosen) => {
        const { added = 0 } = await call('addProjectDataSources', {
          project_id: id,
          body: { data_source_ids: chosen.map((file) => file.id) },
        })
        return words.done(added, chosen.length - added)
      }}
      onClose={onClose}
    />
  )
}

/** ownFilesQuery searches the user's own files. */
function ownFilesQuery(q: string) {
  const query = listQuery<Choosable>(['own-files', q], PAGE, async (page, signal) => {
    const { items } = await call('listDataSources', { ...(q && { q }), ...page, signal })
    return {
      items: items.map(({ id, filename, size }) => ({
        id,
        name: filename,
        email: `${kindOf(filename)}・${formatSize(size)}`,
      })),
    }
  })
  return { ...query, staleTime: 0 }
}
