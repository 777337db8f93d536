import { CircleAlert, FileText, Plus, X } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import { Spinner } from '@/components/Spinner'
import { changeReading } from '@/entities/source/dataSources'
import { useOpenSource } from '@/entities/source/openSource'
import { describeStatus } from '@/entities/source/status'
import { type Upload, uploads } from '@/entities/source/uploads'
import { focusComposer, thenFocusComposer } from '@/lib/ui/composer'
import { attach, detach } from '../draft/attachments'
import type { QuestionFile, QuestionFiles } from '../draft/questionFiles'
import { texts } from '../texts'
import styles from './Attachments.module.css'

const words = texts.files

/** Attachments lists the files of the question in a composer, with their state and a button to remove each. */
export function Attachments({ draft, files }: { draft: string; files: QuestionFiles }) {
  if (files.files.length + files.uploads.length === 0) return null
  return (
    <ul className={styles.list} aria-label={words.list}>
      {files.files.map((file) => (
        <FileChip
          key={file.id}
          file={file}
          disabled={files.waiting}
          onRemove={thenFocusComposer(() => detach(draft, file.id, file.ofThread))}
          onUse={() => attach(draft, [file.id])}
        />
      ))}
      {files.uploads.map((upload) => (
        <UploadChip key={upload.id} upload={upload} onRemoved={focusComposer} />
      ))}
    </ul>
  )
}

/** FileChip shows a data source as a chip that opens it. An excluded data source can be included again. */
export function FileChip({
  file: { source, used },
  disabled = false,
  onRemove,
  onUse,
}: {
  file: Pick<QuestionFile, 'source' | 'used'>
  disabled?: boolean
  onRemove: () => void
  onUse?: () => void
}) {
  const openSource = useOpenSource()
  const name = source?.filename ?? texts.loading
  const status = source?.status ?? 'running'
  const failed = used && status === 'failed'
  const state = used ? (source && status !== 'success' ? describeStatus(source) : '') : words.unused
  return (
    <li className={styles.chip} data-state={used ? status : 'unused'}>
      {used && (status === 'pending' || status === 'running') ? (
        <Spinner size={14} />
      ) : failed ? (
        <CircleAlert size={14} aria-hidden />
      ) : (
        <FileText size={14} aria-hidden />
      )}
      <button
        type="button"
        className={styles.name}
        disabled={status !== 'success'}
        title={name}
        onClick={() => source && openSource({ dataSourceId: source.id })}
      >
        {name}
      </button>
      {state && <span className={styles.state}>{state}</span>}
      {failed && source && (
        <button
          type="button"
          className={styles.again}
          aria-label={words.againLabel(name)}
          onClick={() => void changeReading(source)}
        >
          {texts.again}
        </button>
      )}
      {used ? (
        <IconButton size="sm" side="top" label={words.remove(name)} disabled={disabled} onClick={onRemove}>
          <X size={14} />
        </IconButton>
      ) : (
        <IconButton size="sm" side="top" label={words.use(name)} disabled={disabled} onClick={onUse}>
          <Plus size={14} />
        </IconButton>
      )}
      {failed && source?.error && <p className={styles.reason}>{source.error}</p>}
    </li>
  )
}

/** UploadChip shows a pending upload as a chip. */
export function UploadChip({ upload, onRemoved }: { upload: Upload; onRemoved?: () => void }) {
  const { id, file, state, percent, reason, again } = upload
  const failed = state === 'failed'
  return (
    <li className={styles.chip} data-state={failed ? 'failed' : 'uploading'}>
      {failed ? <CircleAlert size={14} aria-hidden /> : <Spinner size={14} />}
      <span className={styles.name} title={file.name}>
        {file.name}
      </span>
      {!failed && (
        <span className={styles.state}>
          {state === 'waiting'
            ? words.uploadWaits
            : percent < 100
              ? words.uploading(percent)
              : words.uploadStored}
        </span>
      )}
      {failed && again && (
        <button
          type="button"
          className={styles.again}
          aria-label={words.againLabel(file.name)}
          onClick={() => uploads.retry(id)}
        >
          {texts.again}
        </button>
      )}
      <IconButton
        size="sm"
        side="top"
        label={failed ? words.remove(file.name) : words.stop(file.name)}
        onClick={() => {
          uploads.remove(id)
          onRemoved?.()
        }}
      >
        <X size={14} />
      </IconButton>
      {failed && <p className={styles.reason}>{reason}</p>}
    </li>
  )
}
