import { FileUp } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { useFiles } from '@/entities/source/useFiles'
import type { Skill } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import type { Conversation } from './conversation'
import styles from './DropTarget.module.css'
import { draftKey } from './drafts'
import { addFiles } from './questionFiles'
import { texts } from './texts'

/** Takes files for the composer inside it, dropped on it or pasted anywhere, where the skill accepts files. */
export function DropTarget({
  skill,
  conversation,
  disabled = false,
  className,
  children,
}: {
  skill: Skill
  conversation: Conversation
  disabled?: boolean
  className?: string | undefined
  children: ReactNode
}) {
  const accepts = skill.accepts_data_sources && !skill.unavailable_reason && !disabled
  const add = useCallback(
    (files: readonly File[]) => {
      const { state } = conversation
      addFiles(draftKey(skill.id, state.thread?.id), state, files)
    },
    [skill.id, conversation],
  )
  const { over, handlers } = useFiles(accepts ? add : null)
  return (
    <div className={cx(styles.target, className)} {...handlers}>
      {children}
      {over && (
        <p className={styles.over} aria-hidden>
          <FileUp size={22} />
          {texts.files.drop}
        </p>
      )}
    </div>
  )
}
