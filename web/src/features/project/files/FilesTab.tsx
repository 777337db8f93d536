import { FilePlus2, X } from 'lucide-react'
import { useCallback, useRef, useState } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { SearchField } from '@/components/SearchField'
import { refreshProjects } from '@/entities/project/projects'
import { ACCEPTED, formatSize, MAX_MEGABYTES } from '@/entities/source/files'
import { useFiles } from '@/entities/source/useFiles'
import type { ProjectDataSource } from '@/lib/api'
import { useListFocus } from '@/lib/ui/listFocus'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { useSelection } from '@/lib/ui/selection'
import { toast } from '@/lib/ui/toast'
import styles from '../Project.module.css'
import { Empty, LoadedList } from '../parts'
import { mayEdit, useProject } from '../project'
import { useProjectSources } from '../queries'
import { texts } from '../texts'
import { FileLine } from './FileLine'
import files from './Files.module.css'
import { chosenFiles, droppedFiles } from './folders'
import { Matches } from './Matches'
import { OwnFiles } from './OwnFiles'
import { RemoveDialog } from './RemoveDialog'
import { UploadReport } from './UploadReport'
import { uploadTo } from './uploads'

const words = texts.files

/** FilesTab lists the files of the project. Editors add files by button, drop or paste, and remove files. */
export function FilesTab() {
  const project = useProject()
  const { id } = project
  const edits = mayEdit(project)
  const add = useCallback(
    async (chosen: Iterable<File>, dropped?: DataTransfer) => {
      const { files, unreadable } = await (dropped ? droppedFiles(dropped) : chosenFiles(chosen))
      if (unreadable.length > 0) toast(words.unreadable(unreadable))
      else if (files.length === 0) toast(words.nothingFound)
      uploadTo(id, files)
    },
    [id],
  )
  const { over, handlers } = useFiles(edits ? add : null)
  return (
    <section className={styles.section} aria-label={words.label} {...handlers}>
      {edits && <AddFiles over={over} onFiles={add} />}
      <UploadReport projectId={id} />
      <Files edits={edits} />
    </section>
  )
}

/** The attribute of a field that chooses folders, which React's types do not have. */
const folders: object = { webkitdirectory: '' }

/** AddFiles is the drop area, with the buttons to add files. */
function AddFiles({ over, onFiles }: { over: boolean; onFiles: (files: Iterable<File>) => void }) {
  const [sharing, setSharing] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const input = { type: 'file', multiple: true, hidden: true } as const
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    onFiles(currentTarget.files ?? [])
    // Allows choosing the same file again.
    currentTarget.value = ''
  }
  return (
    <>
      <div className={files.add} data-over={over || undefined}>
        <FilePlus2 size={24} aria-hidden />
        <p className={files.drop}>{words.drop}</p>
        <div className={styles.actions}>
          <Button variant="primary" onClick={() => chooser.current?.click()}>
            {words.choose}
          </Button>
          <Button className={files.drop} onClick={() => folder.current?.click()}>
            {words.folder}
          </Button>
          <Button onClick={() => setSharing(true)}>{texts.own.title}</Button>
        </div>
        <p className={styles.quiet}>
          {words.kinds}
          <span className={files.limit}>（{words.limit(MAX_MEGABYTES)}）</span>
        </p>
        <input
          {...input}
          ref={chooser}
          accept={`${ACCEPTED},.zip`}
          aria-label={words.choose}
          onChange={take}
        />
        <input {...input} ref={folder} {...folders} aria-label={words.folder} onChange={take} />
      </div>
      {sharing && <OwnFiles onClose={() => setSharing(false)} />}
    </>
  )
}

function Files({ edits }: { edits: boolean }) {
  const { id, role, counts, storage_used: used, storage_limit: limit } = useProject()
  const [params, change] = useQueryState()
  const query = params.get('q') ?? ''
  const list = useProjectSources(id, query)
  const selection = useSelection(list.items)
  const { box, onFocus } = useListFocus<HTMLUListElement>(list.items)
  const [removing, setRemoving] = useState<readonly ProjectDataSource[] | null>(null)
  const searching = query.trim() !== ''
  const { selected, clear } = selection
  return (
    <>
      {(counts.data_sources > 0 || searching) && (
        <div className={styles.tools}>
          <SearchField
            label={words.search}
            value={query}
            onChange={(q) => change((next) => setValues(next, { q }))}
          />
          {selected.length > 0 ? (
            <div className={styles.actions}>
              <Button size="sm" variant="quietDanger" onClick={() => setRemoving(selected)}>
                {words.removeChosen(selected.length)}
              </Button>
              <IconButton size="sm" label={words.clearChoice} onClick={clear}>
                <X size={16} />
              </IconButton>
            </div>
          ) : (
            <p className={styles.quiet}>{words.used(formatSize(used), limit ? formatSize(limit) : '')}</p>
          )}
        </div>
      )}
      {searching && <Matches projectId={id} query={query} />}
      <div className={files.results}>
        {searching && <h2>{words.byName}</h2>}
        <LoadedList
          list={list}
          empty={
            searching ? (
              <p className={styles.quiet}>{words.noMatch}</p>
            ) : (
              <Empty title={words.none} hint={edits ? words.noneHint : words.noneReadHint}>
                {role === 'manager' && counts.members < 2 && (
                  <ButtonLink to="../member">{texts.members.adding.title}</ButtonLink>
                )}
              </Empty>
            )
          }
        >
          {(sources) => (
            <ul className={styles.list} aria-label={words.label} ref={box} onFocus={onFocus}>
              {sources.map((source) => (
                <FileLine
                  key={source.id}
                  source={source}
                  selection={edits ? selection : null}
                  onRemove={() => setRemoving([source])}
                />
              ))}
            </ul>
          )}
        </LoadedList>
      </div>
      <p className="visually-hidden" role="status">
        {searching && !list.asking && texts.found(list.items.length, list.hasMore)}
      </p>
      {removing && (
        <RemoveDialog
          projectId={id}
          sources={removing}
          onClose={() => {
            setRemoving(null)
            void refreshProjects()
          }}
        />
      )}
    </>
  )
}
