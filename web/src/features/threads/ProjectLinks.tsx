import { useQuery } from '@tanstack/react-query'
import { ChevronRight, Folder } from 'lucide-react'
import { useId } from 'react'
import { NavLink } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { recentProjectsQuery } from '@/entities/project/projects'
import { storedChoice } from '@/lib/ui/storedChoice'
import styles from './ThreadColumn.module.css'
import { texts } from './texts'

const words = texts.projects

/** Whether the section is open. It opens only by its button, because the rows below it must not move with the page. */
const choice = storedChoice('tsumugiProjects', ['open', 'closed'])

/** ProjectLinks links to the list of projects. Its section shows the last changed projects. */
export function ProjectLinks() {
  const open = choice.use() === 'open'
  const id = useId()
  return (
    <>
      <div className={styles.row}>
        <NavLink className={styles.place ?? ''} to="/home/project" end={open}>
          <Folder size={16} aria-hidden />
          {words.title}
        </NavLink>
        <IconButton
          size="sm"
          className={styles.fold}
          label={words.recent}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => choice.set(open ? 'closed' : 'open')}
        >
          <ChevronRight size={16} />
        </IconButton>
      </div>
      <div id={id} hidden={!open}>
        {open && <RecentProjects />}
      </div>
    </>
  )
}

function RecentProjects() {
  const { data, isError, refetch } = useQuery(recentProjectsQuery)
  if (isError && data === undefined) {
    return (
      <button type="button" className={styles.inner} onClick={() => void refetch()}>
        {texts.error}・{texts.reload}
      </button>
    )
  }
  if (data === undefined) return <p className={styles.inner}>{texts.loading}</p>
  if (data.items.length === 0) return <p className={styles.inner}>{words.none}</p>
  return (
    <ul className={styles.recent} aria-label={words.recent}>
      {data.items.map(({ id, name }) => (
        <li key={id}>
          <NavLink className={styles.inner ?? ''} to={`/home/project/${id}`}>
            {name}
          </NavLink>
        </li>
      ))}
    </ul>
  )
}
