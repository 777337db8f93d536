import { Folder } from 'lucide-react'
import type { Project } from '../lib/projects'
import { t } from '../lib/texts'
import styles from './Panel.module.css'
import type { ProjectChoice } from './useProjects'

/** ProjectSelect chooses the project of a new conversation. An account without projects does not see it. */
export function ProjectSelect({ projects, chosen, choose }: ProjectChoice) {
  if (projects.length === 0) return null
  return (
    <label className={styles.project}>
      <Folder size={16} aria-hidden />
      <select
        aria-label={t('project')}
        value={chosen?.id ?? ''}
        onChange={({ target }) => choose(target.value || null)}
      >
        <option value="">{t('noProject')}</option>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** ProjectName shows the project of a conversation. */
export function ProjectName({ project }: { project: Project | null }) {
  return (
    project && (
      <span className={styles.project}>
        <Folder size={16} aria-hidden />
        <span className="visually-hidden">{t('project')}</span>
        <span>{project.name}</span>
      </span>
    )
  )
}
