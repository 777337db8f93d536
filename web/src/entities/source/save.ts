import { call, type DataSource } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { toastFailure } from '@/lib/ui/toast'
import { texts } from './texts'

/** save downloads the file of a data source. It uses a request, because a link cannot send the token. */
export async function save(source: Pick<DataSource, 'id' | 'filename'>): Promise<void> {
  try {
    const file = await call('downloadDataSource', { data_source_id: source.id })
    download(source.filename, file, file.type)
  } catch {
    toastFailure(texts.downloadFailed(source.filename), () => void save(source))
  }
}
