import { Button } from '@/components/Button'
import { texts } from '../texts'
import styles from './Files.module.css'
import { closeReport, type ProjectUploads, remove, retry, useUploads } from './uploads'

const words = texts.uploads

/** UploadReport shows the progress of the uploads into a project, and then their result. */
export function UploadReport({ projectId }: { projectId: string }) {
  const uploads = useUploads(projectId)
  const { waiting, failed, added, known } = uploads
  const total = waiting.length + failed.length + added + known
  if (total === 0) return null
  const busy = waiting.length > 0
  const again = failed.filter((upload) => upload.again)
  return (
    <section className={styles.report} aria-label={words.label}>
      <div className={styles.reportHead}>
        <p role="status">{busy ? words.running : words.ended}</p>
        {busy && <Button onClick={() => remove(waiting)}>{words.stop}</Button>}
        {!busy && again.length > 0 && <Button onClick={() => retry(again)}>{words.retry}</Button>}
        {!busy && <Button onClick={() => closeReport(projectId, uploads)}>{texts.close}</Button>}
      </div>
      {busy && <Progress uploads={uploads} total={total} />}
      <p className={styles.counts}>
        {added > 0 && <span>{words.added(added)}</span>}
        {known > 0 && <span>{words.known(known)}</span>}
        {failed.length > 0 && <span>{words.failed(failed.length)}</span>}
      </p>
      {failed.length > 0 && (
        <ul className={styles.reasons}>
          {[...new Set(failed.map(({ reason }) => reason))].map((reason) => (
            <li key={reason}>
              {reason}
              <span>
                {words.names(
                  failed.filter((upload) => upload.reason === reason).map(({ file }) => file.name),
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Progress({ uploads: { waiting }, total }: { uploads: ProjectUploads; total: number }) {
  const begun = waiting.reduce((sum, { percent }) => sum + percent, 0) / 100
  const percent = Math.floor((100 * (total - waiting.length + begun)) / total)
  return (
    <div
      className={styles.bar}
      role="progressbar"
      aria-label={words.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={words.progress(total - waiting.length, total)}
    >
      <span>
        <span style={{ transform: `scaleX(${percent / 100})` }} />
      </span>
      {words.progress(total - waiting.length, total)}
    </div>
  )
}
