import { Download, FileText, Trash2 } from 'lucide-react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { refreshProjects } from '@/entities/project/projects'
import { changeReading } from '@/entities/source/dataSources'
import { formatSize, kindOf } from '@/entities/source/files'
import { useOpenSource } from '@/entities/source/openSource'
import { save } from '@/entities/source/save'
import { describeStatus } from '@/entities/source/status'
import type { ProjectDataSource } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { formatDate } from '@/lib/ui/dates'
import type { Selection } from '@/lib/ui/selection'
import { useTask } from '@/lib/ui/task'
import styles from '../Project.module.css'
import { texts } from '../texts'
import files from './Files.module.css'

const words = texts.files

interface FileLineProps {
  readonly source: ProjectDataSource
  /** Null if the user may not remove files. */
  readonly selection: Selection<ProjectDataSource> | null
  readonly onRemove: () => void
}

/** FileLine is a file of the project. */
export function FileLine({ source, selection, onRemove }: FileLineProps) {
  const { id, filename, size, status, error, notice, added_by, added_at } = source
  const open = useOpenSource()
  const { busy, run } = useTask()
  const reason = status === 'failed' ? error : notice
  const readAgain = () =>
    run(
      () => changeReading(source).then(refreshProjects),
      () => {},
    )
  return (
    <li className={styles.line} data-line>
      {selection ? (
        <Checkbox
          aria-label={words.select(filename)}
          checked={selection.has(id)}
          onChange={() => selection.toggle(id)}
        />
      ) : (
        <FileText size={18} aria-hidden />
      )}
      <div className={styles.what}>
        <button type="button" className={files.name} onClick={() => open({ dataSourceId: id })}>
          {filename}
        </button>
        <p>
          {words.facts(
            kindOf(filename),
            formatSize(size),
            added_by?.name ?? words.departed,
            formatDate(added_at),
          )}
        </p>
        {status !== 'success' && (
          <p className={files.status} data-status={status}>
            {describeStatus(source)}
            {status === 'failed' && selection && (
              <Button variant="link" loading={busy} onClick={() => void readAgain()}>
                {texts.retry}
                <span className="visually-hidden">{filename}</span>
              </Button>
            )}
          </p>
        )}
        {reason && <p>{reason}</p>}
      </div>
      <div className={styles.facts}>
        <IconButton size="sm" label={words.download(filename)} onClick={() => void save(source)}>
          <Download size={16} />
        </IconButton>
        {selection && (
          <IconButton size="sm" label={words.removeOne(filename)} onClick={onRemove}>
            <Trash2 size={16} />
          </IconButton>
        )}
      </div>
    </li>
  )
}
