import { useQuery } from '@tanstack/react-query'
import { ShieldQuestion } from 'lucide-react'
import { NavLink } from 'react-router'
import { waitingCallsQuery } from '@/entities/thread/toolCalls'
import styles from './ThreadColumn.module.css'
import { texts } from './texts'

const title = '対応待ち'

/** WaitingCalls lists the calls of tools that wait for the user's decision or input, with links to their chats. */
export default function WaitingCalls() {
  const { data = [] } = useQuery(waitingCallsQuery)
  if (data.length === 0) return null
  return (
    <section className={styles.waiting} aria-label={title}>
      <h2>
        <ShieldQuestion size={16} className={styles.mark} aria-hidden />
        {title}
        <span className={styles.count}>{data.length}</span>
      </h2>
      <ul>
        {data.map((item) => (
          <li key={item.id}>
            <NavLink
              className={styles.place ?? ''}
              to={`/home/skill/${item.skill_id}/chat/${item.thread_id}`}
            >
              <span className={styles.clip}>{`${item.title} — ${item.thread_title || texts.untitled}`}</span>
            </NavLink>
          </li>
        ))}
      </ul>
    </section>
  )
}
