import type { Provider } from '@/entities/identity/identity'
import type { Challenge } from '@/entities/identity/identityAccount'

/** PendingSignIn is a sign-in whose password was right, with the challenge that follows it. */
export interface PendingSignIn {
  provider: Provider
  email: string
  /** The entered password, in memory only: challenges expire, and a new one begins with the password. */
  password: string
  challenge: Challenge
}
