import { useQuery } from '@tanstack/react-query'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { ownUsageQuery } from '@/lib/api/queries'
import { focusComposer } from '@/lib/ui/composer'
import type { CostlyAnswer } from '../conversation/conversationState'
import { texts } from '../texts'
import styles from './Notices.module.css'

const words = texts.cost

interface CostDialogProps {
  readonly costly: CostlyAnswer
  readonly onDecline: () => void
}

/**
 * CostDialog asks the user to confirm an answer that takes many tokens. Meanwhile the question is back in the composer.
 */
export function CostDialog({ costly, onDecline }: CostDialogProps) {
  const { data } = useQuery(ownUsageQuery)
  const { token_limit: limit, input_tokens: input = 0, output_tokens: output = 0 } = data ?? {}
  const left = Math.max(0, (limit ?? 0) - input - output)
  const leave = (how: () => void) => () => {
    how()
    // A closed dialog restores the focus unless the previously focused element was removed.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) focusComposer()
    })
  }
  return (
    <Dialog
      title={words.title}
      onClose={leave(onDecline)}
      actions={
        <>
          <Button variant="quiet" onClick={leave(onDecline)}>
            {texts.cancel}
          </Button>
          <Button variant="primary" onClick={leave(costly.proceed)}>
            {words.proceed}
          </Button>
        </>
      }
    >
      <div className={styles.cost}>
        <p>{words.lead(costly.tokens)}</p>
        {limit !== undefined && (
          <p>
            {words.left(left, limit)}
            {left < costly.tokens && words.over}
          </p>
        )}
      </div>
    </Dialog>
  )
}
