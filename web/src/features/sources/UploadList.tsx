import { CircleAlert, X } from 'lucide-react'
import { memo, useSyncExternalStore } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { formatSize } from '@/entities/source/files'
import { type Upload, uploads } from '@/entities/source/uploads'
import { useListFocus } from '@/lib/ui/listFocus'
import { texts } from './texts'
import styles from './UploadList.module.css'

const words = texts.uploads

/** UploadList shows the uploads in progress and the failed ones. */
export function UploadList() {
  const shown = useSyncExternalStore(uploads.subscribe, () => uploads.uploads)
  const { box, onFocus } = useListFocus<HTMLElement>(shown)
  return (
    <section
      ref={box}
      onFocus={onFocus}
      className={styles.box}
      aria-label={words.label}
      hidden={shown.length === 0}
    >
      <ul className={styles.list}>
        {shown.map((upload) => (
          <UploadLine key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  )
}

const UploadLine = memo(({ upload }: { upload: Upload }) => {
  const { id, file, state, reason, again } = upload
  const failed = state === 'failed'
  return (
    <li className={styles.line} data-line={id} data-state={state}>
      <div className={styles.what}>
        <span className={styles.name}>{file.name}</span>
        <span className={styles.size}>{formatSize(file.size)}</span>
      </div>
      {failed ? (
        <p className={styles.reason}>
          <CircleAlert size={16} aria-hidden />
          {reason}
        </p>
      ) : (
        <Progress upload={upload} />
      )}
      <div className={styles.actions}>
        {failed && again && (
          <Button size="sm" aria-label={words.retryLabel(file.name)} onClick={() => uploads.retry(id)}>
            {words.retry}
          </Button>
        )}
        <IconButton
          size="sm"
          label={failed ? words.dismiss(file.name) : words.cancel(file.name)}
          onClick={() => uploads.remove(id)}
        >
          <X size={16} />
        </IconButton>
      </div>
    </li>
  )
})

function Progress({ upload: { file, state, percent } }: { upload: Upload }) {
  return (
    <div className={styles.progress}>
      <div
        className={styles.bar}
        role="progressbar"
        aria-label={words.progress(file.name)}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={stateOf(state, percent)}
      >
        <span style={{ transform: `scaleX(${percent / 100})` }} />
      </div>
      <span className={styles.state}>{stateOf(state, percent)}</span>
    </div>
  )
}

function stateOf(state: Upload['state'], percent: number): string {
  if (state === 'waiting') return words.waiting
  return percent < 100 ? words.sending(percent) : words.storing
}
