import type { ToolApproval, ToolApprovalList } from '@/lib/api'
import { readJSON, sessionFetch } from './session'
import { t } from './texts'

/** readWaitingCall returns a call of a tool that waits for the user's decision; null if it does not wait any more. */
export async function readWaitingCall(id: string): Promise<ToolApproval | null> {
  const { items } = await readJSON<ToolApprovalList>('/v1/tool-call?state=waiting&limit=100')
  return items.find((call) => call.id === id) ?? null
}

/**
 * decideToolCall approves or refuses a call. It returns the server's reason if the server does not accept the decision,
 * and "" otherwise. The same request id again has the same result.
 */
export async function decideToolCall(
  { id, arguments_sha256 }: ToolApproval,
  approved: boolean,
  requestId: string,
): Promise<string> {
  const response = await sessionFetch(`/v1/tool-call/${id}/decision`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request_id: requestId, approved, arguments_sha256 }),
  })
  if (response.ok) return ''
  const problem = (await response.json().catch(() => ({}))) as { detail?: string }
  return problem.detail || t('actionFailed')
}
