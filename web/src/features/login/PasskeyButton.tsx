import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Button } from '@/components/Button'
import { IdentityError, UNREACHABLE } from '@/entities/identity/identity'
import type { SignIn } from '@/entities/identity/identityAccount'
import { passkeysSupported } from '@/entities/identity/passkeySupport'
import type { TokenRecord } from '@/entities/identity/token'
import { configQuery } from '@/lib/api/queries'
import styles from './steps.module.css'
import { texts } from './texts'
import { useAttempt } from './useAttempt'
import { usePasskeyAutofill } from './usePasskeyAutofill'

/** PasskeyButton signs in with a passkey, if the server and the browser support it. */
export function PasskeyButton({
  email = '',
  autofill = false,
  onDone,
}: {
  /** The user who must sign in. Without it, the passkey names the user. */
  email?: string
  /** Also offers passkeys in the suggestions of the address field. */
  autofill?: boolean
  onDone: (record: TokenRecord) => unknown
}) {
  const client = useQuery(configQuery).data?.passkeys
  const { busy, attempt, fail, alert } = useAttempt('passkey')
  const provider = useMemo(
    () => client && passkeysSupported() && { endpoint: client.endpoint, clientId: client.client_id },
    [client],
  )
  const finish = async (result: SignIn) => {
    if (result.kind !== 'done') throw new IdentityError(UNREACHABLE, 'unexpected challenge', 200)
    await onDone(result.record)
  }
  usePasskeyAutofill((autofill && !busy && provider) || undefined, finish, fail)
  if (!provider) return null
  const submit = () =>
    attempt(async () => {
      const { answerPasskey, beginPasskey } = await import('@/entities/identity/passkey')
      const begun = await beginPasskey(provider)
      const challenge = begun.kind === 'passkey' && { ...begun, username: email }
      await finish(challenge ? await answerPasskey(provider, challenge) : begun)
    })
  return (
    <div className={styles.passkey}>
      <Button size="lg" wide loading={busy} onClick={submit}>
        {texts.passkey.signIn}
      </Button>
      {alert}
    </div>
  )
}
