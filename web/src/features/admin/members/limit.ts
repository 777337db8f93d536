import type { MemberTokens, UserEditRequest } from '@/lib/api'
import { readCount } from '@/lib/ui/numbers'

/** The maximum limit, in tokens per month. */
const MAX_TOKENS = 1_000_000_000_000

/** LimitValues are the values of the limit form. */
export interface LimitValues {
  rule: MemberTokens['rule']
  /** The typed text, for the rule `own`. */
  tokens: string
}

/** limitOf returns the values of the form for a member. */
export function limitOf({ rule, limit }: MemberTokens): LimitValues {
  return { rule, tokens: rule === 'own' && limit !== undefined ? String(limit) : '' }
}

/** typedTokens parses the typed number of tokens; undefined if it cannot be a limit. */
export function typedTokens(text: string): number | undefined {
  const tokens = readCount(text)
  return tokens !== undefined && tokens >= 1 && tokens <= MAX_TOKENS ? tokens : undefined
}

/** limitChange returns the changed limit, without tokens if the typed text is invalid; empty if unchanged. */
export function limitChange(before: MemberTokens, after: LimitValues): Pick<UserEditRequest, 'token_limit'> {
  if (after.rule !== 'own') return after.rule === before.rule ? {} : { token_limit: { rule: after.rule } }
  const tokens = typedTokens(after.tokens)
  if (before.rule === 'own' && tokens === before.limit) return {}
  return { token_limit: { rule: 'own', ...(tokens !== undefined && { tokens }) } }
}
