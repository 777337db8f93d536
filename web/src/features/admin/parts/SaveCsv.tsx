import { Download } from 'lucide-react'
import { Button } from '@/components/Button'
import { errorMessage } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { csv } from '../texts'

/** Saves a list as a CSV file. */
export function SaveCsv({ name, load, label }: { name: string; load: () => Promise<Blob>; label?: string }) {
  const { busy, run } = useTask()
  const save = async () => {
    await run(
      async () => {
        download(`${name}.csv`, await load(), 'text/csv')
      },
      (cause) => toastFailure(csv.failed(errorMessage(cause)), () => void save()),
    )
  }
  return (
    <Button loading={busy} onClick={() => void save()}>
      <Download size={16} aria-hidden />
      {label ?? csv.save}
    </Button>
  )
}
