import { useQuery } from '@tanstack/react-query'
import { useAtomValue } from 'jotai'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import { findGeneralChat } from '@/entities/skill/generalChat'
import { useSkillNote } from '@/entities/skill/skillNote'
import { useBeginsChat } from '@/entities/thread/newChat'
import type { Skill } from '@/lib/api'
import { queryClient, skillQuery, skillsQuery } from '@/lib/api/queries'
import { loadFormulaStyles, preloadMarkdown } from '@/lib/markdown'
import type { Question } from '../conversation/conversationState'
import { newConversation, setNewConversation } from '../conversations'
import { Composer } from './Composer'
import styles from './Composer.module.css'
import { DropTarget } from './DropTarget'

/** HomeComposer asks the general chat from the home page. Sending the question opens the chat. */
export function HomeComposer() {
  const { data: skills, isPending } = useQuery(skillsQuery)
  const skill = findGeneralChat(skills)
  if (skill !== undefined) return <Asking skill={skill} />
  return isPending && <div className={styles.place} aria-hidden />
}

function Asking({ skill }: { skill: Skill }) {
  const navigate = useNavigate()
  const [conversation] = useState(() => newConversation(skill.id))
  useAtomValue(conversation.stateAtom) // The composer follows the thread until its page has loaded.
  const note = useSkillNote(skill)
  const beginsChat = useBeginsChat()

  const ask = (question: Question) => {
    preloadMarkdown().catch(() => {})
    loadFormulaStyles().catch(() => {})
    // The chat can show the question without loading the skill.
    queryClient.setQueryData(skillQuery(skill.id).queryKey, skill)
    void conversation.ask(question)
    setNewConversation(conversation)
    void navigate(`/home/skill/${skill.id}`, { state: { asked: true } })
  }

  return (
    <DropTarget className={styles.form} skill={skill} conversation={conversation}>
      {note && !skill.unavailable_reason && <p className={styles.blocked}>{note}</p>}
      <Composer skill={skill} conversation={conversation} focused={beginsChat} onAsk={ask} />
    </DropTarget>
  )
}
