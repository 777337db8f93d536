import { skipToken, useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { IdentityError, type Provider } from '@/entities/identity/identity'
import type { SignIn } from '@/entities/identity/identityAccount'
import { passkeyAutofillSupported } from '@/entities/identity/passkeySupport'

/** The time after which another challenge replaces an unused one. The server accepts one for three minutes. */
const CHALLENGE_MS = 150_000

/** passkeyCode loads the code of passkeys, which most sign-ins do not need. */
const passkeyCode = () => import('@/entities/identity/passkey')

/**
 * usePasskeyAutofill offers the user's passkeys in the suggestions of the fields with the autocomplete token `webauthn`,
 * if the browser supports it. Without a provider it offers none, so that another request for a passkey can begin: a page
 * can have only one.
 */
export function usePasskeyAutofill(
  provider: Provider | undefined,
  onAnswer: (result: SignIn) => unknown,
  onRefusal: (cause: IdentityError) => void,
): void {
  const { data: challenge, refetch } = useQuery({
    queryKey: ['passkey-autofill', provider],
    queryFn: provider
      ? async () => ((await passkeyAutofillSupported()) ? (await passkeyCode()).beginPasskey(provider) : null)
      : skipToken,
    staleTime: CHALLENGE_MS,
    refetchInterval: CHALLENGE_MS,
    gcTime: 0,
    retry: false,
  })
  const answered = useEffectEvent(onAnswer)
  // Other errors are those of the browser, after the user has cancelled. The button continues to work.
  const failed = useEffectEvent((cause: unknown) => {
    if (!(cause instanceof IdentityError)) return
    onRefusal(cause)
    void refetch()
  })
  useEffect(() => {
    if (!provider || challenge?.kind !== 'passkey') return
    const offer = new AbortController()
    const wait = async () => {
      const { answerPasskey } = await passkeyCode()
      await answered(await answerPasskey(provider, challenge, offer.signal))
    }
    wait().catch((cause: unknown) => {
      if (!offer.signal.aborted) failed(cause)
    })
    return () => offer.abort()
  }, [provider, challenge])
}
