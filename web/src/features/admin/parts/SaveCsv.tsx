import { Download } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { download } from '@/lib/browser/download'
import { toastFailure } from '@/lib/ui/toast'
import { reason } from '../members/changes'
import { texts } from '../texts'

/** Saves a list as a CSV file. */
export function SaveCsv({ name, load, label }: { name: string; load: () => Promise<Blob>; label?: string }) {
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      download(`${name}.csv`, await load(), 'text/csv')
    } catch (cause) {
      toastFailure(texts.csv.failed(reason(cause)), () => void save())
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button loading={busy} onClick={() => void save()}>
      <Download size={16} aria-hidden />
      {label ?? texts.csv.save}
    </Button>
  )
}
