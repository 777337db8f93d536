import { CircleAlert } from 'lucide-react'
import { lazy, Suspense } from 'react'
import type { ToolCall } from '@/lib/api'
import type { AnswerToolCall, CallApproval } from '@/lib/stream'
import { partialToolInputs, toolInputs } from '@/lib/ui/toolInputs'
import { visible } from '@/lib/ui/visible'
import { texts } from '../texts'
import { Fold } from './Fold'
import styles from './ToolCalls.module.css'

/** AnyCall is a call of a tool in a running or a stored answer. */
type AnyCall = Pick<ToolCall, 'id' | 'title' | 'arguments' | 'result' | 'error'> & {
  readonly status: AnswerToolCall['status']
  readonly approval?: CallApproval | null
}

// Loaded on use: few answers wait for decisions.
const ApprovalCard = lazy(async () => ({ default: (await import('./ApprovalCard')).ApprovalCard }))

/** Approvals shows the calls that wait for a decision. */
export function Approvals({ calls }: { calls: readonly AnswerToolCall[] }) {
  return calls.map(
    (call) =>
      call.approval?.state === 'waiting' && (
        <Suspense key={call.approval.id} fallback={null}>
          <ApprovalCard call={call} approval={call.approval} />
        </Suspense>
      ),
  )
}

/** ToolCalls shows the calls of tools in one line, which can be unfolded to see their input and results. */
export function ToolCalls({ calls, writing }: { calls: readonly AnyCall[]; writing: boolean }) {
  if (calls.length === 0) return null
  const running = writing ? calls.find(isActive) : undefined
  return (
    <Fold running={running !== undefined} summary={running ? activity(running) : summary(calls)}>
      <ol className={styles.list}>
        {calls.map((call) => (
          <li key={call.id}>
            <CallDetails call={call} />
          </li>
        ))}
      </ol>
    </Fold>
  )
}

/** isActive reports whether a call is written or made. */
function isActive({ status, approval }: AnyCall): boolean {
  return status === 'writing' || (status === 'running' && approval?.state !== 'waiting')
}

function activity({ status, title }: AnyCall): string {
  return status === 'writing' ? texts.toolCalls.preparing(title) : texts.toolCalls.running(title)
}

/** summary names the tool if there is one, and counts the tools otherwise. */
function summary(calls: readonly AnyCall[]): string {
  const waiting = calls.find((call) => call.approval?.state === 'waiting')
  if (waiting?.approval?.cause === 'input') return texts.toolCalls.askingInput(waiting.title)
  if (waiting) return texts.toolCalls.asking(waiting.title)
  const titles = [...new Set(calls.map((call) => call.title))]
  const named = titles.length > 1 ? titles : [texts.toolCalls.times(titles[0] ?? '', calls.length)]
  return calls.every((call) => call.status === 'returned')
    ? texts.toolCalls.returned(named)
    : texts.toolCalls.done(named)
}

function stateText({ cause, state }: CallApproval): string | undefined {
  return (cause === 'input' && texts.toolCalls.inputStates[state]) || texts.toolCalls.approvals[state]
}

function CallDetails({ call }: { call: AnyCall }) {
  return (
    <>
      <p className={styles.title}>
        {call.title}
        {call.status === 'failed' && (
          <span className={styles.failed}>
            <CircleAlert size={14} aria-hidden />
            {texts.toolCalls.failed}
          </span>
        )}
        {call.approval && <span className={styles.quiet}>{stateText(call.approval)}</span>}
      </p>
      <dl>
        {(call.status === 'writing' ? partialToolInputs : toolInputs)(call.arguments).map(([name, value]) => (
          <div key={name}>
            <dt>{(texts.toolCalls.inputs[name] ?? visible(name)) || texts.toolCalls.input}</dt>
            <dd>
              <Addresses text={visible(value)} />
            </dd>
          </div>
        ))}
        <div>
          <dt>{texts.toolCalls.output}</dt>
          <dd>
            <Addresses text={call.error || call.result || call.approval?.reason || without[call.status]} />
          </dd>
        </div>
      </dl>
    </>
  )
}

/** Addresses shows a text whose web addresses are links that begin with their real host. */
function Addresses({ text }: { text: string }) {
  return text.split(/(https?:\/\/[^\s"'<>\\^`{|}　-〿＂-／]+)/).map((part, i) => {
    const url = i % 2 === 1 && URL.canParse(part) ? new URL(part) : null
    return url === null ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: The parts of a text have no other identity.
      <a key={i} href={url.href} target="_blank" rel="noopener noreferrer" className={styles.address}>
        <strong>{url.host}</strong>
        {url.href.slice(url.href.indexOf(url.host) + url.host.length)}
      </a>
    )
  })
}

/** The text in place of a result. */
const without: Readonly<Record<AnyCall['status'], string>> = {
  writing: texts.toolCalls.unfinished,
  running: texts.toolCalls.waiting,
  success: texts.toolCalls.empty,
  failed: texts.toolCalls.empty,
  returned: texts.toolCalls.elsewhere,
  denied: texts.toolCalls.empty,
}
