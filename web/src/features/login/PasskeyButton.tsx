import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { IdentityError, UNREACHABLE } from '@/entities/identity/identity'
import { identityMessage } from '@/entities/identity/identityMessages'
import { passkeysSupported } from '@/entities/identity/passkeySupport'
import type { TokenRecord } from '@/entities/identity/token'
import { configQuery } from '@/lib/api/queries'
import { useTask } from '@/lib/ui/task'
import styles from './steps.module.css'
import { texts } from './texts'

/** PasskeyButton signs in with a passkey, if the server and the browser support it. */
export function PasskeyButton({
  email = '',
  onDone,
}: {
  /** The user who must sign in. Without it, the passkey names the user. */
  email?: string
  onDone: (record: TokenRecord) => unknown
}) {
  const client = useQuery(configQuery).data?.passkeys
  const [error, setError] = useState('')
  const { busy, run } = useTask()
  if (!client || !passkeysSupported()) return null
  const submit = () => {
    setError('')
    void run(
      async () => {
        const { answerPasskey, beginPasskey } = await import('@/entities/identity/passkey')
        const provider = { endpoint: client.endpoint, clientId: client.client_id }
        const begun = await beginPasskey(provider)
        const result = begun.kind === 'passkey' ? await answerPasskey(provider, email, begun) : begun
        if (result.kind !== 'done') throw new IdentityError(UNREACHABLE, 'unexpected challenge', 200)
        await onDone(result.record)
      },
      (cause) => setError(identityMessage(cause, 'passkey')),
    )
  }
  return (
    <div className={styles.passkey}>
      <Button size="lg" wide loading={busy} onClick={submit}>
        {texts.passkey.signIn}
      </Button>
      <div role="alert">{error && <FieldErrorText>{error}</FieldErrorText>}</div>
    </div>
  )
}
