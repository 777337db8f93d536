import { FileUp } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { useFiles } from '@/entities/source/useFiles'
import type { Skill } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { toast } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { draftKey } from '../draft/drafts'
import { addPictures, isPicture } from '../draft/pictures'
import { addFiles } from '../draft/questionFiles'
import { usePictureRefusal } from '../pictures/pictureSupport'
import { texts } from '../texts'
import styles from './DropTarget.module.css'

/**
 * DropTarget accepts files for the composer inside it, dropped on it or pasted anywhere, if the skill accepts files.
 */
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
  const accepts = skill.accepts_data_sources === true
  const open = !skill.unavailable_reason && !disabled
  const blind = usePictureRefusal(skill)
  const add = useCallback(
    (files: readonly File[]) => {
      const { state } = conversation
      const key = draftKey(skill.id, state.thread?.id)
      const pictures = files.filter(isPicture)
      const others = files.filter((file) => !isPicture(file))
      if (pictures.length > 0 && blind) toast(texts.pictures.blind(blind))
      else if (pictures.length > 0) addPictures(key, pictures)
      if (others.length > 0 && accepts) addFiles(key, state, others)
      else if (others.length > 0) toast(texts.files.notHere)
    },
    [skill.id, conversation, accepts, blind],
  )
  // If no files can be added, the page shows that.
  const { over, handlers } = useFiles(open && (accepts || blind === '') ? add : null)
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
