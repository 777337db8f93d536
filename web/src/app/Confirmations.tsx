import { useAtomValue } from 'jotai'
import { lazy, Suspense } from 'react'
import { confirmationAtom } from '@/entities/session/confirmation'

const ConfirmSignIn = lazy(async () => ({
  default: (await import('@/features/login/ConfirmSignIn')).ConfirmSignIn,
}))

/** Confirmations shows the request to sign in again for a call that needs a recent sign-in. */
export function Confirmations() {
  const confirmation = useAtomValue(confirmationAtom)
  if (confirmation === null) return null
  return (
    <Suspense>
      <ConfirmSignIn confirmation={confirmation} />
    </Suspense>
  )
}
