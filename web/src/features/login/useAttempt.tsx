import { useState } from 'react'
import { FieldErrorText } from '@/components/Field'
import { identityMessage, type Purpose } from '@/entities/identity/identityMessages'
import { useTask } from '@/lib/ui/task'

/** useAttempt makes one call to the identity provider at a time. `alert` shows the error of the last one. */
export function useAttempt(purpose?: Purpose) {
  const [error, setError] = useState('')
  const { busy, run } = useTask()
  const fail = (cause: unknown) => setError(identityMessage(cause, purpose))
  const attempt = (work: () => Promise<void>) => {
    setError('')
    void run(work, fail)
  }
  const alert = <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
  return { busy, attempt, fail, alert }
}
