import { ShieldQuestion } from 'lucide-react'
import { useCallback, useEffect, useId, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import type { ToolApproval } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import type { Answer, AnswerToolCall, CallApproval } from '@/lib/stream'
import { toolInputs } from '@/lib/ui/toolInputs'
import { visible } from '@/lib/ui/visible'
import { SignedOut } from '../lib/session'
import type { Turn } from '../lib/storedConversations'
import { type TextName, t, timeOf } from '../lib/texts'
import { decideToolCall, readWaitingCall } from '../lib/toolCalls'
import { type Conversation, isOver } from './conversation'
import styles from './Panel.module.css'

// A newer server may have further causes and states.
const causes: Readonly<Record<string, TextName | undefined>> = {
  rule: 'approvalRule',
  untrusted: 'approvalUntrusted',
  unknown: 'approvalUnknown',
}

const titles: Readonly<Record<string, TextName | undefined>> = {
  waiting: 'approvalTitle',
  approved: 'approvalApproved',
  denied: 'approvalDenied',
  expired: 'approvalExpired',
  canceled: 'approvalCanceled',
}

/** The titles of requests for input, where they differ. The form is on the web only. */
const inputTitles: Readonly<Record<string, TextName | undefined>> = {
  waiting: 'inputTitle',
  approved: 'inputSent',
  denied: 'inputDeclined',
}

function titleOf(tool: string, { cause, state }: CallApproval): string {
  const name = (cause === 'input' ? inputTitles[state] : undefined) ?? titles[state]
  return name ? t(name, tool) : tool
}

/** isWaiting reports whether an answer waits for a decision about a call of a tool. */
export function isWaiting({ toolCalls }: Answer): boolean {
  return toolCalls.some(({ approval }) => approval?.state === 'waiting')
}

/** approvalNotice returns the text for screen readers about the calls of an answer that need decisions; "" for none. */
export function approvalNotice({ toolCalls }: Answer): string {
  const asked = toolCalls.filter(({ approval }) => approval !== null)
  const call = asked.find(({ approval }) => approval?.state === 'waiting') ?? asked.at(-1)
  return call?.approval ? titleOf(call.title, call.approval) : ''
}

interface ApprovalsProps {
  readonly turn: Turn
  readonly conversation: Conversation
  /** The server; empty if it is unknown. */
  readonly origin: string
}

/** Approvals shows the calls of an answer that wait for a decision, and the decisions about others. */
export function Approvals({ turn, conversation, origin }: ApprovalsProps) {
  const { threadId, toolCalls } = turn.answer
  const url = origin && threadId ? `${origin}/chat/${threadId}` : null
  return toolCalls.map(
    (call) =>
      call.approval !== null &&
      !(call.approval.state === 'waiting' && isOver(turn)) && (
        <Approval
          key={call.approval.id}
          call={call}
          approval={call.approval}
          url={url}
          conversation={conversation}
        />
      ),
  )
}

interface ApprovalProps {
  readonly call: AnswerToolCall
  readonly approval: CallApproval
  /** The thread in the app. */
  readonly url: string | null
  readonly conversation: Conversation
}

function Approval({ call, approval, url, conversation }: ApprovalProps) {
  const id = useId()
  const box = useRef<HTMLElement>(null)
  const isInput = approval.cause === 'input'
  const waits = approval.state === 'waiting'
  const decides = waits && !isInput
  const cause = causes[approval.cause]
  const { asked, failure, sending, decide, retry } = useDecision(approval.id, decides, conversation)
  const press = async (approved: boolean) => {
    await decide(approved)
    // The pressed button is removed.
    const focused = document.activeElement
    if (focused === document.body || box.current?.contains(focused)) box.current?.focus()
  }
  return (
    <section ref={box} className={styles.approval} aria-labelledby={id} tabIndex={-1}>
      <h3 id={id}>
        <ShieldQuestion size={16} aria-hidden />
        {titleOf(call.title, approval)}
      </h3>
      {approval.state === 'denied' && approval.reason && <p className={styles.quiet}>{approval.reason}</p>}
      {decides && (
        <>
          {cause && <p className={styles.quiet}>{t(cause)}</p>}
          <Inputs json={asked?.arguments ?? call.arguments} />
        </>
      )}
      {failure && (
        <p className={styles.error} role="alert">
          {failure}
        </p>
      )}
      {waits && (
        <>
          <div className={styles.row}>
            {decides && asked && (
              <>
                <Button size="sm" variant="primary" loading={sending} onClick={() => void press(true)}>
                  {t('approve')}
                </Button>
                <Button size="sm" variant="quietDanger" disabled={sending} onClick={() => void press(false)}>
                  {t('refuse')}
                </Button>
              </>
            )}
            {!asked && failure && (
              <Button size="sm" onClick={retry}>
                {t('again')}
              </Button>
            )}
          </div>
          {url && (
            <a href={url} target="_blank" rel="noreferrer">
              {t(isInput ? 'inputMore' : 'approvalMore')}
            </a>
          )}
          <p className={styles.quiet}>
            {t(isInput ? 'inputUntil' : 'approvalUntil', timeOf(approval.expires_at))}
          </p>
        </>
      )}
    </section>
  )
}

/** Inputs shows the arguments of a call as names and values. */
function Inputs({ json }: { json: string }) {
  return (
    <dl>
      {toolInputs(json).map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name) || t('approvalInput')}</dt>
          <dd>{visible(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

/**
 * useDecision reads a waiting call with its complete arguments, and sends the user's decision. After a decision, the
 * stream of the answer changes the call's state.
 */
function useDecision(id: string, waits: boolean, conversation: Conversation) {
  const [asked, setAsked] = useState<ToolApproval | null>(null)
  const [failure, setFailure] = useState('')
  const [sending, setSending] = useState(false)
  const requestId = useRequestId()
  const fail = useCallback(
    (cause: unknown) => {
      if (cause instanceof SignedOut) conversation.onSignedOut(cause)
      setFailure(t('actionFailed'))
    },
    [conversation],
  )
  const read = useCallback(() => readWaitingCall(id).then(setAsked, fail), [id, fail])
  useEffect(() => {
    if (waits) void read()
  }, [waits, read])
  const decide = async (approved: boolean) => {
    if (asked === null || sending) return
    setSending(true)
    setFailure('')
    try {
      const refusal = await decideToolCall(asked, approved, requestId([approved, asked.arguments_sha256]))
      if (refusal === '') return
      setFailure(refusal)
      await read()
    } catch (cause) {
      fail(cause)
    }
    setSending(false)
  }
  const retry = () => {
    setFailure('')
    void read()
  }
  return { asked, failure, sending, decide, retry }
}
