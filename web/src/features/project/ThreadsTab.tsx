import { useQuery } from '@tanstack/react-query'
import { MessageSquarePlus } from 'lucide-react'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { findGeneralChat } from '@/entities/skill/generalChat'
import { inProject } from '@/entities/thread/newChat'
import { skillsQuery } from '@/lib/api/queries'
import styles from './Project.module.css'
import { Empty, LoadedList } from './parts'
import { mayEdit, useProject } from './project'
import { useProjectThreads } from './queries'
import { ThreadLine } from './ThreadLine'
import { texts } from './texts'

const words = texts.threads

const kinds = { all: undefined, shared: 'project', own: 'private' } as const

/** ThreadsTab begins chats in the project, and lists its chats: the user's own and the shared ones. */
export function ThreadsTab() {
  const project = useProject()
  const [kind, setKind] = useState<keyof typeof kinds>('all')
  const list = useProjectThreads(project.id, kinds[kind])
  return (
    <div className={styles.section}>
      {!project.archived && <Begin />}
      <FirstSteps />
      <div className={styles.chips} role="group" aria-label={words.shown}>
        {(['all', 'shared', 'own'] as const).map((one) => (
          <ChoiceChip key={one} selected={kind === one} onClick={() => setKind(one)}>
            {words.kinds[one]}
          </ChoiceChip>
        ))}
      </div>
      <LoadedList list={list} empty={<Empty {...(kind === 'shared' ? words.noneShared : words.none)} />}>
        {(threads) => (
          <ul className={styles.list} aria-label={words.label}>
            {threads.map((thread) => (
              <ThreadLine key={thread.id} thread={thread} />
            ))}
          </ul>
        )}
      </LoadedList>
    </div>
  )
}

/**
 * Begin opens the page of the project's default skill to begin a chat in the project, or of the general chat without a
 * skill that the user may use.
 */
function Begin() {
  const { id, name, skill_id } = useProject()
  const navigate = useNavigate()
  const skills = useQuery(skillsQuery).data
  const usable = skills === undefined || skills.some((skill) => skill.id === skill_id)
  const skillId = (usable ? skill_id : undefined) ?? findGeneralChat(skills)?.id
  const begin = (visibility: 'private' | 'project') => {
    if (skillId === undefined) return
    void navigate(`/home/skill/${skillId}`, { state: inProject({ id, name, visibility }) })
  }
  return (
    <div className={styles.chips}>
      <Button variant="primary" disabled={skillId === undefined} onClick={() => begin('private')}>
        <MessageSquarePlus size={16} aria-hidden />
        {words.begin}
      </Button>
      <Button disabled={skillId === undefined} onClick={() => begin('project')}>
        {words.beginShared}
      </Button>
    </div>
  )
}

/** FirstSteps leads to the first files and members of a project that has none. */
function FirstSteps() {
  const project = useProject()
  const { id, role, counts } = project
  const steps = [
    counts.data_sources === 0 &&
      mayEdit(project) && { to: 'file', title: texts.files.choose, hint: words.firstFilesHint },
    counts.members <= 1 &&
      role === 'manager' && { to: 'member', title: texts.members.adding.title, hint: words.firstMembersHint },
  ].filter((step) => step !== false)
  if (steps.length === 0) return null
  return (
    <ul className={styles.list} aria-label={words.first}>
      {steps.map(({ to, title, hint }) => (
        <li key={to} className={styles.line}>
          <div className={styles.what}>
            <Link className={styles.target} to={`/home/project/${id}/${to}`}>
              {title}
            </Link>
            <p className={styles.quiet}>{hint}</p>
          </div>
        </li>
      ))}
    </ul>
  )
}
