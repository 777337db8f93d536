import { Users } from 'lucide-react'
import { Link } from 'react-router'
import { SkillIcon } from '@/components/SkillIcon'
import { Snippet } from '@/components/Snippet'
import { Spinner } from '@/components/Spinner'
import { threadPath } from '@/entities/thread/foundThreads'
import type { Thread } from '@/lib/api'
import { formatDate, formatFull } from '@/lib/ui/dates'
import styles from './Project.module.css'
import { texts } from './texts'

const words = texts.threads

/** ThreadLine is a thread in a list of a project: its title, its owner, whether it is shared and when it was used. */
export function ThreadLine({ thread }: { thread: Thread }) {
  const { title, skill, running, visibility, own, owner, touched_at, match } = thread
  return (
    <li className={styles.line}>
      <span className={styles.icon}>
        <SkillIcon path={skill.icon_path} size={20} />
        {running && (
          <>
            <Spinner size={28} />
            <span className="visually-hidden">{words.running}</span>
          </>
        )}
      </span>
      <div className={styles.what}>
        <Link className={styles.target} to={threadPath(thread)}>
          {title || words.untitled}
        </Link>
        {match && (
          <p className={styles.snippet}>
            <Snippet text={match.snippet} ranges={match.ranges} />
          </p>
        )}
      </div>
      <span className={styles.facts}>
        {visibility === 'project' && (
          <span className={styles.mark}>
            <Users size={14} aria-hidden />
            {words.kinds.shared}
          </span>
        )}
        {!own && owner && <span>{words.by(owner.name)}</span>}
        <time dateTime={touched_at} title={formatFull(touched_at)}>
          {formatDate(touched_at)}
        </time>
      </span>
    </li>
  )
}
