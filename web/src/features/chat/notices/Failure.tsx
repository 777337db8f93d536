import { CircleAlert, X } from 'lucide-react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { thenFocusComposer } from '@/lib/ui/composer'
import type { SendFailure } from '../conversation/conversationState'
import { describeFailure } from '../conversation/failures'
import { texts } from '../texts'
import styles from './Notices.module.css'

/** Failure shows why a question could not be sent, with a retry button. The text is back in the composer. */
export function Failure({ failure, onDismiss }: { failure: SendFailure; onDismiss: () => void }) {
  return (
    <div className={styles.failure} role="alert">
      <CircleAlert size={16} aria-hidden />
      <p>
        {texts.failure.send}
        {describeFailure(failure.cause)}
      </p>
      <Button size="sm" onClick={thenFocusComposer(failure.retry)}>
        {texts.again}
      </Button>
      <IconButton size="sm" label={texts.close} onClick={thenFocusComposer(onDismiss)}>
        <X size={16} />
      </IconButton>
    </div>
  )
}
