import { LayoutGrid, Plus, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { Link, useMatch } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { SearchField } from '@/components/SearchField'
import { keys } from '@/lib/platform'
import { SearchResults } from './SearchResults'
import styles from './ThreadColumn.module.css'
import { ThreadGroups } from './ThreadGroups'
import { texts } from './texts'

/** The column with the threads: the way to the skills, a new thread with the skill at hand, the search, the list. */
export function ThreadColumn({ onClose }: { onClose?: () => void }) {
  const [query, setQuery] = useState('')
  const skillId = useMatch('/home/skill/:skillId/*')?.params.skillId
  const scroller = useRef<HTMLElement>(null)
  return (
    <div className={styles.column}>
      <div className={styles.head}>
        <div className={styles.row}>
          <Link className={styles.skills} to="/home/skill" aria-current={skillId ? undefined : 'page'}>
            <LayoutGrid size={16} aria-hidden />
            {texts.skills}
          </Link>
          {onClose && (
            <IconButton label={texts.close} onClick={onClose}>
              <X size={18} />
            </IconButton>
          )}
        </div>
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
        {query.trim() === '' ? (
          <ThreadGroups scroller={scroller} />
        ) : (
          <SearchResults query={query} scroller={scroller} />
        )}
      </nav>
    </div>
  )
}
