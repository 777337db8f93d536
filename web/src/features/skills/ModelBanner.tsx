import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { NoticeBox } from '@/components/NoticeCard'
import { isAdmin } from '@/entities/session/guard'
import { skillNote } from '@/entities/skill/skillNote'
import type { Role } from '@/lib/api'
import { configQuery, skillsQuery } from '@/lib/api/queries'
import styles from './ModelBanner.module.css'
import { texts } from './texts'

const words = texts.model

/** Reports a missing model, with the skills that work without one and the next step for the reader. */
export function ModelBanner({ role }: { role: Role }) {
  const config = useQuery(configQuery).data
  const skills = useQuery(skillsQuery).data
  if (config === undefined || config.model_connected || skills === undefined) return null
  const usable = skills.filter((skill) => skillNote(skill, false) === undefined)
  return (
    <section aria-label={words.title}>
      <NoticeBox level="warning" title={words.title}>
        <p>{isAdmin(role) ? words.connect : words.ask}</p>
        {usable.length > 0 && <p>{words.usable(usable.map(({ name }) => name))}</p>}
        {isAdmin(role) && (
          <p className={styles.links}>
            <Link to="/admin/model">{words.how}</Link>
            {config.links.help && (
              <a href={config.links.help} target="_blank" rel="noreferrer">
                {words.help}
              </a>
            )}
          </p>
        )}
      </NoticeBox>
    </section>
  )
}
