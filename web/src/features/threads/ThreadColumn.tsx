import { useQuery } from '@tanstack/react-query'
import { Archive, Files, History, LayoutGrid, ListChecks, MoreHorizontal, Plus, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { Link, useMatch } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { SearchField } from '@/components/SearchField'
import { retentionQuery } from '@/entities/thread/leaving'
import { keys } from '@/lib/browser/platform'
import { ArchivedThreads, SearchResults } from './FoundThreads'
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
    <Link className={styles.skills} to="/home/skill/leaving">
      <History size={16} aria-hidden />
      {texts.leaving.link(threads)}
    </Link>
  )
}

/**
 * The column with the threads: the links to the skills and the data sources, the button for a new thread with the
 * current skill, the search, the list.
 */
export function ThreadColumn({ onClose }: { onClose?: () => void }) {
  const [query, setQuery] = useState('')
  const [archive, setArchive] = useState(false)
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null)
  const skillId = useMatch('/home/skill/:skillId/*')?.params.skillId
  const scroller = useRef<HTMLElement>(null)
  const toggle = (id: string) => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  const searching = query.trim() !== ''
  return (
    <div className={styles.column}>
      <div className={styles.head}>
        <div className={styles.row}>
          <Link className={styles.skills} to="/home/skill" aria-current={skillId ? undefined : 'page'}>
            <LayoutGrid size={16} aria-hidden />
            {texts.skills}
          </Link>
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
            <MenuItem icon={<Archive size={16} aria-hidden />} onSelect={() => setArchive(!archive)}>
              {archive ? texts.showList : texts.showArchive}
            </MenuItem>
          </Menu>
          {onClose && (
            <IconButton label={texts.close} onClick={onClose}>
              <X size={18} />
            </IconButton>
          )}
        </div>
        <Link className={styles.skills} to="/home/data-source">
          <Files size={16} aria-hidden />
          {texts.sources}
        </Link>
        <LeavingLink />
        {skillId && (
          <ButtonLink to={`/home/skill/${skillId}`} wide title={keys('mod', 'shift', 'O')}>
            <Plus size={16} aria-hidden />
            {texts.newThread}
          </ButtonLink>
        )}
        <SearchField
          label={texts.search}
          clearLabel={texts.clear}
          value={query}
          onChange={setQuery}
          size="sm"
        />
      </div>
      <nav className={styles.scroller} aria-label={texts.label} ref={scroller}>
        <SelectionContext value={chosen && { ids: chosen, toggle }}>
          {searching && <SearchResults query={query} scroller={scroller} />}
          {!searching && archive && <ArchivedThreads scroller={scroller} onClose={() => setArchive(false)} />}
          {!searching && !archive && <ThreadGroups scroller={scroller} />}
        </SelectionContext>
      </nav>
      {chosen && <SelectionBar ids={chosen} archived={archive} onDone={() => setChosen(null)} />}
    </div>
  )
}
