import { Check, Paperclip, Upload } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { Popover } from '@/components/Popover'
import { SearchField } from '@/components/SearchField'
import { useSourceSearch } from '@/entities/source/dataSources'
import { ACCEPTED } from '@/entities/source/files'
import { describeStatus } from '@/entities/source/status'
import type { DataSource } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { texts } from '../texts'
import styles from './AttachMenu.module.css'

const words = texts.files

interface AttachMenuProps {
  /** The ids of the chosen data sources. */
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (source: DataSource) => void
  readonly onFiles: (files: readonly File[]) => void
  /** Whether only one file can be chosen, which then closes the menu. */
  readonly single?: boolean
  readonly disabled?: boolean
  /** The id of the button in a form field. */
  readonly id?: string
  readonly name?: string
  readonly describedBy?: string | undefined
}

/** AttachMenu adds files to a question: new uploads or earlier ones. */
export function AttachMenu({
  chosen,
  onChoose,
  onFiles,
  single = false,
  disabled = false,
  id,
  name,
  describedBy,
}: AttachMenuProps) {
  const [open, setOpen] = useState(false)
  const upload = () => {
    chooseFiles(!single, onFiles)
    setOpen(false)
  }
  return (
    <Popover
      label={words.attach}
      align="start"
      open={open}
      onOpenChange={setOpen}
      className={styles.panel}
      trigger={
        single ? (
          <Button id={id} name={name} aria-describedby={describedBy} disabled={disabled}>
            {words.choose}
          </Button>
        ) : (
          <IconButton label={words.attach} side="top" disabled={disabled}>
            <Paperclip size={18} />
          </IconButton>
        )
      }
    >
      <Button className={styles.upload} onClick={upload}>
        <Upload size={16} aria-hidden />
        {words.upload}
      </Button>
      <Known
        chosen={chosen}
        onChoose={(source) => {
          onChoose(source)
          if (single) setOpen(false)
        }}
      />
    </Popover>
  )
}

function Known({ chosen, onChoose }: Pick<AttachMenuProps, 'chosen' | 'onChoose'>) {
  const [query, setQuery] = useState('')
  const { items, loaded, error, asking, hasMore, ready, loadMore, retry } = useSourceSearch(query)
  const searched = query.trim() !== ''
  return (
    <>
      <SearchField
        size="sm"
        label={words.search}
        clearLabel={words.clear}
        value={query}
        onChange={setQuery}
      />
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
            {texts.reload}
          </Button>
        </p>
      )}
      {loaded && !asking && items.length === 0 && !error && (
        <p className={styles.note} role="status">
          {searched ? words.notFound : words.none}
        </p>
      )}
    </>
  )
}

/** chooseFiles opens the file picker. */
function chooseFiles(multiple: boolean, onFiles: (files: readonly File[]) => void): void {
  const chooser = document.createElement('input')
  chooser.type = 'file'
  chooser.accept = ACCEPTED
  chooser.multiple = multiple
  chooser.onchange = () => onFiles([...(chooser.files ?? [])])
  chooser.click()
}
