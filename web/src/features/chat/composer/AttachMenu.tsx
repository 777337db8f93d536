import { Check, Plus, Upload } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import type { Trigger } from '@/components/Menu'
import { Popover } from '@/components/Popover'
import { SearchField } from '@/components/SearchField'
import { useSourceSearch } from '@/entities/source/dataSources'
import { ACCEPTED } from '@/entities/source/files'
import { describeStatus } from '@/entities/source/status'
import type { DataSource } from '@/lib/api'
import { chooseFiles } from '@/lib/browser/chooseFiles'
import { formatDate } from '@/lib/ui/dates'
import { PictureActions } from '../pictures/PictureActions'
import { texts } from '../texts'
import styles from './AttachMenu.module.css'

const words = texts.files

/** FileChoice has the files of a question or a form field. */
interface FileChoice {
  /** The ids of the chosen data sources. */
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (source: DataSource) => void
  readonly onFiles: (files: readonly File[]) => void
  /** Whether only one file can be chosen, which then closes the menu. */
  readonly single?: boolean
}

interface AttachMenuProps {
  readonly label: string
  /** The button that opens the menu, instead of a plus. */
  readonly trigger?: Trigger
  readonly disabled?: boolean
  /** Absent if the question cannot have files. */
  readonly files?: FileChoice | undefined
  /** Absent if the place cannot have pictures. */
  readonly pictures?: ComponentProps<typeof PictureActions>
}

/** AttachMenu adds files and pictures: new uploads or earlier ones. */
export function AttachMenu({ label, trigger, disabled, files, pictures }: AttachMenuProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <Popover
      label={label}
      align="start"
      sheet
      open={open}
      onOpenChange={setOpen}
      className={styles.panel}
      trigger={
        trigger ?? (
          <IconButton label={label} side="top" disabled={disabled}>
            <Plus size={20} />
          </IconButton>
        )
      }
    >
      <div className={styles.actions}>
        {files && (
          <Button
            variant="quiet"
            onClick={() => {
              chooseFiles({ accept: ACCEPTED, multiple: !files.single }, files.onFiles)
              close()
            }}
          >
            <Upload size={16} aria-hidden />
            {words.upload}
          </Button>
        )}
        {pictures && (
          <PictureActions
            {...pictures}
            onFiles={(added) => {
              pictures.onFiles(added)
              close()
            }}
          />
        )}
      </div>
      {files && (
        <Known
          chosen={files.chosen}
          onChoose={(source) => {
            files.onChoose(source)
            if (files.single) close()
          }}
        />
      )}
    </Popover>
  )
}

function Known({ chosen, onChoose }: Pick<FileChoice, 'chosen' | 'onChoose'>) {
  const [query, setQuery] = useState('')
  const { items, loaded, error, asking, hasMore, ready, loadMore, retry } = useSourceSearch(query)
  const searched = query.trim() !== ''
  return (
    <div className={styles.known}>
      <h2 className={styles.title}>{words.known}</h2>
      <SearchField size="sm" label={words.search} value={query} onChange={setQuery} />
      <ul className={styles.list} aria-label={searched ? words.found : words.recent} aria-busy={asking}>
        {items.map((source) => (
          <li key={source.id}>
            <button
              type="button"
              className={styles.item}
              aria-pressed={chosen.has(source.id)}
              disabled={source.status === 'failed'}
              onClick={() => onChoose(source)}
            >
              <span className={styles.mark}>{chosen.has(source.id) && <Check size={16} aria-hidden />}</span>
              <span className={styles.name}>{source.filename}</span>
              <span className={styles.about}>
                {source.status === 'success' ? formatDate(source.created_at) : describeStatus(source)}
              </span>
              {source.status === 'failed' && <span className={styles.reason}>{source.error}</span>}
            </button>
          </li>
        ))}
        {ready && hasMore && (
          <li>
            <Button variant="link" size="sm" onClick={loadMore}>
              {words.moreFiles}
            </Button>
          </li>
        )}
      </ul>
      {error && (
        <p className={styles.note} role="alert">
          {words.listFailed}
          <Button variant="link" size="sm" onClick={retry}>
            {texts.again}
          </Button>
        </p>
      )}
      {loaded && !asking && items.length === 0 && !error && (
        <p className={styles.note} role="status">
          {searched ? words.notFound : words.none}
        </p>
      )}
    </div>
  )
}
