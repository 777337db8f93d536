import { type Challenge, type SignIn, signIn } from '@/entities/identity/identityAccount'
import { isChallengeOver } from '@/entities/identity/identityMessages'
import type { TokenRecord } from '@/entities/identity/token'
import { FactorSetupStep } from './FactorSetupStep'
import { FactorStep } from './FactorStep'
import { NewPasswordStep } from './NewPasswordStep'
import { PasskeyStep } from './PasskeyStep'
import type { PendingSignIn } from './pendingSignIn'
import { texts } from './texts'

/** The heading of a page that shows a challenge. */
export function challengeTitle({ challenge }: PendingSignIn): string {
  return {
    'new-password': texts.newPassword,
    factor: texts.factor,
    passkey: texts.factor,
    'factor-setup': texts.factorSetup,
  }[challenge.kind].title
}

interface ChallengeStepProps {
  pending: PendingSignIn
  onDone: (record: TokenRecord) => unknown
  /** Another challenge follows. */
  onNext: (pending: PendingSignIn) => void
  onBack?: (() => void) | undefined
}

/** ChallengeStep requests the answer to a challenge. */
export function ChallengeStep({ pending, onDone, onNext, onBack }: ChallengeStepProps) {
  const { challenge } = pending
  const conclude = async (result: SignIn, password = pending.password) => {
    if (result.kind === 'done') await onDone(result.record)
    else onNext({ ...pending, password, challenge: result })
  }
  if (challenge.kind === 'factor-setup')
    return <FactorSetupStep pending={pending} conclude={conclude} onBack={onBack} />
  const answer = async (respond: (challenge: Challenge) => Promise<SignIn>, password?: string) =>
    conclude(await respondInTime(pending, respond), password)
  if (challenge.kind === 'passkey') return <PasskeyStep pending={pending} answer={answer} onBack={onBack} />
  if (challenge.kind === 'factor') return <FactorStep pending={pending} answer={answer} onBack={onBack} />
  return <NewPasswordStep pending={pending} answer={answer} />
}

// A challenge is valid for a few minutes. If the user needs longer, another one is started.
async function respondInTime(
  { provider, email, password, challenge }: PendingSignIn,
  respond: (challenge: Challenge) => Promise<SignIn>,
): Promise<SignIn> {
  try {
    return await respond(challenge)
  } catch (cause) {
    if (!isChallengeOver(cause)) throw cause
    const again = await signIn(provider, email, password)
    return again.kind === challenge.kind ? respond(again) : again
  }
}
