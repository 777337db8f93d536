import { FileUp } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { useFiles } from '@/entities/source/useFiles'
import type { Message, Skill } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { toast } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { ownPictures } from '../draft/attachments'
import { draftKey, editKey } from '../draft/drafts'
import { addPictures, isPicture } from '../draft/pictures'
import { addFiles } from '../draft/questionFiles'
import { usePictureRefusal } from '../pictures/pictureSupport'
import { texts } from '../texts'
import styles from './DropTarget.module.css'

/**
 * DropTarget accepts files for the composer inside it, dropped on it or pasted anywhere, if the skill accepts files.
 * A question that is being edited takes pictures instead, unless the composer has the focus.
 */
export function DropTarget({
  skill,
  conversation,
  edited,
  disabled = false,
  className,
  children,
}: {
  skill: Skill
  conversation: Conversation
  /** The question that is being edited. */
  edited?: Message | undefined
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
      const target = document.activeElement?.hasAttribute('data-composer') ? undefined : edited
      const key = target ? editKey(target.id) : draftKey(skill.id, state.thread?.id)
      const pictures = files.filter(isPicture)
      const others = files.filter((file) => !isPicture(file))
      if (pictures.length > 0 && blind) toast(texts.pictures.blind(blind))
      else if (pictures.length > 0) addPictures(key, pictures, target && ownPictures(target, key).length)
      if (others.length === 0) return
      if (target) toast(texts.edit.noFiles)
      else if (accepts) addFiles(key, state, others)
      else toast(texts.files.notHere)
    },
    [skill.id, conversation, edited, accepts, blind],
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
