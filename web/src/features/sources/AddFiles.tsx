import { FilePlus2 } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '@/components/Button'
import { ACCEPTED, MAX_MEGABYTES } from '@/entities/source/files'
import styles from './AddFiles.module.css'
import { texts } from './texts'

const words = texts.add

/** The place to put files, with a button for who would rather choose them; says which ones. */
export function AddFiles({
  over,
  onFiles,
}: {
  /** Whether files are held above the page. */
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
          // The same file can be chosen once more.
          currentTarget.value = ''
        }}
      />
    </section>
  )
}
