/** ToolApproval is a call of a tool that needs a decision of the person whose question is answered. */
export interface ToolApproval {
  /** The `approvalId` of `tool-approval-request`, and the `approval.id` of the message's part. */
  readonly id: string
  readonly state: 'waiting' | 'approved' | 'denied' | 'expired' | 'canceled'
  /**
   * Why the call needs a decision: by the tool's rule, because the answer has read texts of others, or because the call
   * may have been made before a failure, or because the tool asks for input in the middle of the call.
   */
  readonly cause: 'rule' | 'untrusted' | 'unknown' | 'input'
  readonly thread_id: string
  readonly thread_title: string
  readonly skill_id: string
  /** The answer, which waits. */
  readonly message_id: string
  /** The `toolCallId`. */
  readonly call_id: string
  readonly name: string
  /** The name of the tool for people. */
  readonly title: string
  /** JSON. */
  readonly arguments: string
  readonly arguments_sha256: string
  /** The request for input, with the cause `input`. */
  readonly input?: ToolInput
  /** Of a refusal. */
  readonly reason?: string
  /** The person has changed the arguments. */
  readonly edited?: boolean
  readonly created_at: string
  readonly expires_at: string
  readonly decided_at?: string
}

/** ToolDecision is a decision about a ToolApproval. */
export interface ToolDecision {
  /** A UUID; generated if left out. The same decision with the same id again has the same result. */
  readonly request_id?: string
  readonly approved: boolean
  /** Replaces the arguments of an approved call. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** That of the arguments that the person has seen. */
  readonly arguments_sha256: string
  /** Of a refusal, for the assistant. */
  readonly reason?: string
  /** Approves further calls of the tool in the thread. */
  readonly remember?: boolean
  /** The response to a tool that asks for input. `approved` is true exactly for `accept`. */
  readonly input?: ToolInputResponse
}

/** ToolInput is a tool's request for input. Its texts were written by the tool's server. */
export interface ToolInput {
  /** The name of the server. */
  readonly server: string
  /** How often the call has asked, from 1. */
  readonly round: number
  readonly forms: readonly ToolInputForm[]
}

export interface ToolInputForm {
  readonly id: string
  readonly message: string
  readonly fields: readonly ToolInputField[]
}

export interface ToolInputField {
  readonly name: string
  readonly label: string
  readonly description?: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'choice' | 'choices'
  readonly required: boolean
  readonly default?: string | number | boolean | readonly string[]
  /** Of a string: `email`, `uri`, `date` or `date-time`. */
  readonly format?: string
  readonly min_length?: number
  readonly max_length?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly options?: readonly { readonly value: string; readonly label: string }[]
  /** Of `choices`. */
  readonly min_items?: number
  /** Of `choices`; all options if left out. */
  readonly max_items?: number
}

export interface ToolInputResponse {
  readonly action: 'accept' | 'decline' | 'cancel'
  /** The values of `accept` by form and field. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
