import { FilePlus2 } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '@/components/Button'
import { ACCEPTED, MAX_MEGABYTES } from '@/entities/source/files'
import styles from './AddFiles.module.css'
import { texts } from './texts'

const words = texts.add

/** AddFiles is the drop area for files, with a button to choose files. It lists the accepted formats. */
export function AddFiles({
  over,
  onFiles,
}: {
  /** Whether files are dragged over the page. */
  over: boolean
  onFiles: (files: readonly File[]) => void
}) {
  const chooser = useRef<HTMLInputElement>(null)
  return (
    <section className={styles.place} aria-label={words.label} data-over={over || undefined}>
      <FilePlus2 className={styles.icon} size={24} aria-hidden />
      <p className={styles.drop}>{words.drop}</p>
      <Button variant="primary" onClick={() => chooser.current?.click()}>
        {words.choose}
      </Button>
      <p className={styles.hint}>
        <span>{words.kinds}</span>
        <span>{words.limit(MAX_MEGABYTES)}</span>
        <span className={styles.paste}>{words.paste}</span>
      </p>
      <input
        ref={chooser}
        type="file"
        multiple
        accept={ACCEPTED}
        hidden
        aria-label={words.choose}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])])
          // Allows choosing the same file again.
          currentTarget.value = ''
        }}
      />
    </section>
  )
}
