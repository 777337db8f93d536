import type { AuthKind } from '@/lib/api/types'

/** The storage key of the token record. */
export const TOKEN_KEY = 'tsumugiToken'

/** The stored token record. `expiresIn` is in seconds from the time the tokens were issued. */
export interface TokenRecord {
  authType: AuthKind
  clientId: string
  refreshToken: string
  idToken: string
  accessToken: string
  expiresIn: number
  tokenType: string
}

/**
 * RefreshedTokens are the values of a refresh that replace those in the record, including the refresh token if the
 * provider rotates them.
 */
export type RefreshedTokens = Omit<TokenRecord, 'authType' | 'clientId' | 'refreshToken'> &
  Partial<Pick<TokenRecord, 'refreshToken'>>

/** readToken returns the stored record, or null if it is missing or invalid. */
export function readToken(): TokenRecord | null {
  try {
    const text = localStorage.getItem(TOKEN_KEY)
    if (text === null) return null
    const value: unknown = JSON.parse(text)
    return isTokenRecord(value) ? value : null
  } catch {
    return null
  }
}

/** Stores a record, replacing the previous one. */
export function saveToken(record: TokenRecord): void {
  localStorage.setItem(TOKEN_KEY, JSON.stringify(record))
}

/** Puts refreshed tokens into the stored record and returns it. */
export function refreshStoredToken(tokens: RefreshedTokens): TokenRecord {
  const stored = readToken()
  if (stored === null) throw new Error('cannot refresh local storage Token: not found in localstorage')
  const record = { ...stored, ...tokens }
  saveToken(record)
  return record
}

/** Removes the record. Other tabs notice and sign out as well. */
export function clearToken(): void {
  localStorage.removeItem(TOKEN_KEY)
}

function isTokenRecord(value: unknown): value is TokenRecord {
  if (value === null || typeof value !== 'object') return false
  const record = value as Record<string, unknown>
  return (
    (record.authType === 'cognito' || record.authType === 'federated_idp') &&
    typeof record.clientId === 'string' &&
    typeof record.refreshToken === 'string' &&
    typeof record.idToken === 'string' &&
    typeof record.accessToken === 'string'
  )
}
