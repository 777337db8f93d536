import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Loaded } from '@/components/States'
import { revoke } from '@/entities/identity/identity'
import { readToken, saveToken, TOKEN_KEY, type TokenRecord } from '@/entities/identity/token'
import type { Confirmation } from '@/entities/session/confirmation'
import { type AuthTypeAnswer, call } from '@/lib/api'
import { signInTimeOf } from '@/lib/api/jwt'
import { meQuery } from '@/lib/api/queries'
import { oauth2Authorize } from '@/lib/api/signIn'
import { Account } from './Account'
import { ChallengeStep } from './ChallengeStep'
import { PasskeyButton } from './PasskeyButton'
import { PasswordStep } from './PasswordStep'
import type { PendingSignIn } from './pendingSignIn'
import { providerOf } from './provider'
import styles from './steps.module.css'
import { texts } from './texts'

const words = texts.confirm

/** ConfirmSignIn asks the user of the session to sign in again, over the page, whose input stays. */
export function ConfirmSignIn({ confirmation }: { confirmation: Confirmation }) {
  const { email } = useSuspenseQuery(meQuery).data
  const way = useQuery({
    queryKey: ['auth-type', email],
    queryFn: () => call('authType', { body: { email } }),
    staleTime: 0,
  })
  const cancel = () => confirmation.end(false)
  return (
    <Dialog title={words.title} onClose={cancel} actions={<Button onClick={cancel}>{words.cancel}</Button>}>
      <p className={styles.body}>{words.body}</p>
      <Loaded query={way} loading={null}>
        {(answer) =>
          readToken()?.authType === 'federated_idp' ? (
            <Federated email={email} way={answer} onDone={() => confirmation.end(true)} />
          ) : (
            <Password email={email} way={answer} onDone={() => confirmation.end(true)} />
          )
        }
      </Loaded>
    </Dialog>
  )
}

interface StepProps {
  email: string
  way: AuthTypeAnswer
  onDone: () => void
}

function Password({ email, way, onDone }: StepProps) {
  const [pending, setPending] = useState<PendingSignIn>()
  const done = (record: TokenRecord) => {
    const before = readToken()
    saveToken(record)
    // The new session replaces the previous one. If it cannot be ended now, it expires.
    if (before) void revoke(before).catch(() => {})
    onDone()
  }
  if (pending) return <ChallengeStep pending={pending} onDone={done} onNext={setPending} />
  return (
    <>
      <PasswordStep
        email={email}
        provider={providerOf(way)}
        askFactor
        onDone={done}
        onChallenge={setPending}
      />
      <PasskeyButton email={email} onDone={done} />
    </>
  )
}

/** Federated signs in in another window, which stores the tokens for all tabs. */
function Federated({ email, way, onDone }: StepProps) {
  const [before] = useState(() => signInTimeOf(readToken()?.idToken ?? ''))
  // Another tab may also have refreshed the same tokens. A sign-in as another user reloads the page.
  const onStored = useEffectEvent(() => {
    if (signInTimeOf(readToken()?.idToken ?? '') > before) onDone()
  })
  useEffect(() => {
    const listen = (event: StorageEvent) => {
      if (event.key === TOKEN_KEY) onStored()
    }
    window.addEventListener('storage', listen)
    return () => window.removeEventListener('storage', listen)
  }, [])
  return (
    <div className={styles.form}>
      <Account email={email} />
      <Button
        variant="primary"
        size="lg"
        wide
        autoFocus
        onClick={() =>
          window.open(
            oauth2Authorize(way.organization_id, '/oauth/confirmed', 'login'),
            '_blank',
            'popup,width=480,height=720',
          )
        }
      >
        {texts.federated.go}
      </Button>
      <p className={styles.small}>{words.window}</p>
    </div>
  )
}
