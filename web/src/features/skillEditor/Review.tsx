import { useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import { call, type SkillRequest } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { useAction } from './actions'
import { described, useNames } from './described'
import styles from './Library.module.css'
import { texts } from './texts'

/** Review shows everything that an administrator would publish, and decides on the request. */
export function Review({ request, onClose }: { request: SkillRequest; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const { busy, act } = useAction()
  const { content, documents = [] } = request
  const names = useNames(documents)
  const decide = (approve: boolean) =>
    act(async () => {
      const body = { approve, reason: approve ? '' : reason }
      await call('decideSkillRequest', { skill_request_id: request.id, body })
      toast(texts.decided, { tone: 'success' })
      onClose()
    })
  return (
    <Dialog
      title={request.skill_name}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button onClick={() => void decide(false)}>{texts.reject}</Button>
          <Button variant="primary" loading={busy} onClick={() => void decide(true)}>
            {texts.approve}
          </Button>
        </>
      }
    >
      <div className={styles.dialog}>
        {content && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
          <pre className={styles.prompt} tabIndex={0} role="group" aria-label={texts.reviewed}>
            {described(content, names)}
          </pre>
        )}
        <TextArea
          label={texts.reason}
          optional
          rows={2}
          maxLength={1000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </div>
    </Dialog>
  )
}
