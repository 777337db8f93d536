import { useAtomValue } from 'jotai'
import { useState } from 'react'
import type { Skill, Thread } from '@/lib/api'
import { newTrial } from '../conversations'
import styles from './Chat.module.css'
import { ChatBody } from './ChatBody'
import { useAutoScroll } from './useAutoScroll'

/** Trial is a thread with an unsaved skill. `start` creates the thread with the first question. */
export function Trial({ skill, start }: { skill: Skill; start: (requestId: string) => Promise<Thread> }) {
  const [conversation] = useState(() => newTrial(skill.id, start))
  const { turns } = useAtomValue(conversation.stateAtom)
  const scroll = useAutoScroll(turns[0]?.key)
  return (
    <div className={styles.chat}>
      <ChatBody skill={skill} conversation={conversation} scroll={scroll} embedded />
    </div>
  )
}
