import { call, type DataSource } from '@/lib/api'
import { toastFailure } from '@/lib/ui/toast'
import { texts } from './texts'

/** save downloads the file of a data source. It uses a request, because a link cannot send the token. */
export async function save(source: Pick<DataSource, 'id' | 'filename'>): Promise<void> {
  try {
    const url = URL.createObjectURL(await call('downloadDataSource', { data_source_id: source.id }))
    const link = document.createElement('a')
    link.href = url
    link.download = source.filename
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch {
    toastFailure(texts.downloadFailed(source.filename), () => void save(source))
  }
}
