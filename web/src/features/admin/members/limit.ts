import type { MemberTokens, UserEditRequest } from '@/lib/api'
import { readCount } from '@/lib/ui/numbers'

/** The highest limit, in tokens a month. */
const MAX_TOKENS = 1_000_000_000_000

/** What the form of a limit holds. */
export interface LimitValues {
  rule: MemberTokens['rule']
  /** As typed, for the rule `own`. */
  tokens: string
}

/** The values of the form for a member. */
export function limitOf({ rule, limit }: MemberTokens): LimitValues {
  return { rule, tokens: rule === 'own' && limit !== undefined ? String(limit) : '' }
}

/** The tokens that were typed; undefined if no limit can have them. */
export function typedTokens(text: string): number | undefined {
  const tokens = readCount(text)
  return tokens !== undefined && tokens >= 1 && tokens <= MAX_TOKENS ? tokens : undefined
}

/** The changed limit, without tokens if those typed cannot be a limit; nothing if it is the same. */
export function limitChange(before: MemberTokens, after: LimitValues): Pick<UserEditRequest, 'token_limit'> {
  if (after.rule !== 'own') return after.rule === before.rule ? {} : { token_limit: { rule: after.rule } }
  const tokens = typedTokens(after.tokens)
  if (before.rule === 'own' && tokens === before.limit) return {}
  return { token_limit: { rule: 'own', ...(tokens !== undefined && { tokens }) } }
}
