import { GitBranch, X } from 'lucide-react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { thenFocusComposer } from '@/lib/ui/composer'
import type { Conversation } from '../conversation/conversation'
import type { OtherBranch as Place } from '../conversation/conversationState'
import styles from '../question/Branches.module.css'
import { texts } from '../texts'

/** OtherBranchNotice reports an answer in another branch and links to it. */
export function OtherBranchNotice({ place, conversation }: { place: Place; conversation: Conversation }) {
  const { id, running } = place
  return (
    <div className={styles.elsewhere}>
      <GitBranch size={16} aria-hidden />
      <p role="status">{running ? texts.branches.running : texts.branches.done}</p>
      {id !== null && (
        <Button size="sm" onClick={thenFocusComposer(() => void conversation.goTo(id))}>
          {texts.branches.show}
        </Button>
      )}
      {!running && (
        <IconButton
          size="sm"
          label={texts.close}
          onClick={thenFocusComposer(() => conversation.dismissOtherBranch())}
        >
          <X size={16} />
        </IconButton>
      )}
    </div>
  )
}
