import { useQuery } from '@tanstack/react-query'
import { Archive, Files, History, LayoutGrid, ListChecks, MoreHorizontal, SquarePen, X } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { Link, NavLink } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { SearchField } from '@/components/SearchField'
import { retentionQuery } from '@/entities/thread/leaving'
import { useNewChat } from '@/entities/thread/newChat'
import { useThreads } from '@/entities/thread/threads'
import { keys } from '@/lib/browser/platform'
import { cx } from '@/lib/ui/cx'
import { ArchivedThreads, SearchResults } from './FoundThreads'
import { ProjectLinks } from './ProjectLinks'
import { SelectionBar } from './SelectionBar'
import { SelectionContext } from './selection'
import styles from './ThreadColumn.module.css'
import { ThreadGroups } from './ThreadGroups'
import { texts } from './texts'

/** The link to the user's threads that will be deleted, if there are any. */
function LeavingLink() {
  const threads = useQuery(retentionQuery).data?.leaving.threads ?? 0
  if (threads === 0) return null
  return (
    <div className={styles.foot}>
      <NavLink className={styles.place ?? ''} to="/home/skill/leaving">
        <History size={16} aria-hidden />
        {texts.leaving.link(threads)}
      </NavLink>
    </div>
  )
}

const WaitingCalls = lazy(() => import('./WaitingCalls'))

/** The calls that wait for a decision. They belong to answers that are being written. */
function Decisions() {
  if (!useThreads().items.some((thread) => thread.running)) return null
  return (
    <Suspense fallback={null}>
      <WaitingCalls />
    </Suspense>
  )
}

/** The links of the sidebar: a new chat, the skills, the files and the projects. */
function Places({ onClose }: { onClose: (() => void) | undefined }) {
  const newChat = useNewChat()
  return (
    <nav className={styles.places} aria-label={texts.places}>
      <div className={styles.row}>
        <Link className={cx(styles.place, styles.new)} {...newChat} title={keys('mod', 'shift', 'O')}>
          <SquarePen size={16} aria-hidden />
          {texts.newThread}
        </Link>
        {onClose && (
          <IconButton label={texts.close} onClick={onClose}>
            <X size={18} />
          </IconButton>
        )}
      </div>
      <NavLink className={styles.place ?? ''} to="/home/skill" end>
        <LayoutGrid size={16} aria-hidden />
        {texts.skills}
      </NavLink>
      <NavLink className={styles.place ?? ''} to="/home/data-source">
        <Files size={16} aria-hidden />
        {texts.sources}
      </NavLink>
      <ProjectLinks />
      <Decisions />
    </nav>
  )
}

/** The content of the sidebar: the links to the main pages, the search, and the list of threads. */
export function ThreadColumn({ onClose }: { onClose?: () => void }) {
  const [query, setQuery] = useState('')
  const [archive, setArchive] = useState(false)
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null)
  const scroller = useRef<HTMLElement>(null)
  const toggle = (id: string) => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  const showArchive = (shown: boolean) => {
    setArchive(shown)
    if (chosen) setChosen(new Set()) // Threads out of sight are not selected.
  }
  const endSelection = () => {
    setChosen(null)
    scroller.current?.focus()
  }
  const searching = query.trim() !== ''
  return (
    <div className={styles.column}>
      <Places onClose={onClose} />
      <div className={cx(styles.row, styles.search)}>
        <SearchField label={texts.search} value={query} onChange={setQuery} size="sm" />
        <Menu
          trigger={
            <IconButton label={texts.listMenu}>
              <MoreHorizontal size={18} />
            </IconButton>
          }
        >
          <MenuItem icon={<ListChecks size={16} aria-hidden />} onSelect={() => setChosen(new Set())}>
            {texts.choose}
          </MenuItem>
          <MenuItem icon={<Archive size={16} aria-hidden />} onSelect={() => showArchive(!archive)}>
            {archive ? texts.showList : texts.showArchive}
          </MenuItem>
        </Menu>
      </div>
      <nav className={styles.scroller} aria-label={texts.label} ref={scroller} tabIndex={-1}>
        <SelectionContext value={chosen && { ids: chosen, toggle }}>
          {searching && <SearchResults query={query} scroller={scroller} />}
          {!searching && archive && (
            <ArchivedThreads scroller={scroller} onClose={() => showArchive(false)} />
          )}
          {!searching && !archive && <ThreadGroups scroller={scroller} />}
        </SelectionContext>
      </nav>
      {!chosen && <LeavingLink />}
      {chosen && <SelectionBar ids={chosen} archived={archive && !searching} onDone={endSelection} />}
    </div>
  )
}
