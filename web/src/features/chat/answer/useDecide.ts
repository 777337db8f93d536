import { useState } from 'react'
import { waitingCallsQuery } from '@/entities/thread/toolCalls'
import { ApiError, call, errorMessage, type ToolApproval, type ToolDecision } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { useRequestId } from '@/lib/api/useRequestId'
import { fieldMessages } from '../conversation/failures'
import { texts } from './approvalTexts'

/**
 * useDecide sends a decision. A repeated attempt with the same decision has the same request id. If somebody else has
 * decided, in another tab for example, the stream of the answer shows that. `fields` has the errors of entered values,
 * and `refused` that of edited arguments.
 */
export function useDecide({ id, arguments_sha256 }: ToolApproval) {
  const requestId = useRequestId()
  const [sending, setSending] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const decide = async (decision: Omit<ToolDecision, 'request_id' | 'arguments_sha256'>) => {
    setSending(true)
    setFailure(null)
    try {
      await call('decideToolCall', {
        tool_call_id: id,
        body: { ...decision, request_id: requestId(decision), arguments_sha256 },
      })
    } catch (cause) {
      setFailure(cause)
    }
    setSending(false)
    void reload(waitingCallsQuery.queryKey)
  }
  return {
    decide: (d: Parameters<typeof decide>[0]) => void decide(d),
    sending,
    error: failure === null ? '' : errorMessage(failure) || texts.failed,
    refused: failure instanceof ApiError ? failure.field('arguments') : undefined,
    fields: fieldMessages(failure, 'input.values.'),
  }
}
