import { useQuery } from '@tanstack/react-query'
import { ShieldQuestion } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { FieldErrorText, TextArea } from '@/components/Field'
import { waitingCallsQuery } from '@/entities/thread/toolCalls'
import type { ToolApproval } from '@/lib/api'
import type { AnswerToolCall, CallApproval } from '@/lib/stream'
import { formatFull } from '@/lib/ui/dates'
import { quoteLongNumbers, toolInputs } from '@/lib/ui/toolInputs'
import { visible } from '@/lib/ui/visible'
import { texts as chatTexts } from '../texts'
import styles from './ApprovalCard.module.css'
import { texts } from './approvalTexts'
import { InputForm } from './InputForm'
import { useDecide } from './useDecide'

interface CardProps {
  readonly call: AnswerToolCall
  readonly approval: CallApproval
}

/** ApprovalCard lets the person whose question is answered decide about a call. Others can only read it. */
export function ApprovalCard({ call, approval }: CardProps) {
  const { data } = useQuery({ ...waitingCallsQuery, refetchOnMount: 'always' })
  const own = data?.find((item) => item.id === approval.id)
  if (approval.cause === 'input') return <InputCard call={call} approval={approval} own={own} />
  return (
    <Card title={own ? texts.title(call.title) : texts.others(call.title)}>
      {own && <p className={styles.note}>{texts.causes[own.cause]}</p>}
      {own ? <Decision key={own.arguments_sha256} waiting={own} /> : <Arguments json={call.arguments} />}
      <p className={styles.note}>{texts.expires(formatFull(approval.expires_at))}</p>
    </Card>
  )
}

/** InputCard shows what the tool asks the person for. Others see only that it asks. */
function InputCard({ call, approval, own }: CardProps & { own: ToolApproval | undefined }) {
  const input = own?.input
  return (
    <Card title={input ? texts.inputs.title(input.server) : texts.inputs.others(call.title)}>
      {own && input && (
        <>
          <p className={styles.note}>{texts.inputs.note(call.title)}</p>
          <InputForm key={own.id} waiting={own} input={input} />
        </>
      )}
      <p className={styles.note}>{texts.inputs.expires(formatFull(approval.expires_at))}</p>
    </Card>
  )
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  const id = useId()
  return (
    <section className={styles.card} aria-labelledby={id} data-print="hide">
      <h3 id={id} className={styles.title}>
        <ShieldQuestion size={18} className={styles.mark} aria-hidden />
        {title}
      </h3>
      {children}
    </section>
  )
}

/** Arguments shows the arguments of a call as names and values, and as JSON. */
function Arguments({ json }: { json: string }) {
  const inputs = toolInputs(json)
  return (
    <>
      {inputs.flat().some((text) => visible(text) !== text) && (
        <FieldErrorText>{texts.invisible}</FieldErrorText>
      )}
      <dl className={styles.inputs}>
        {inputs.map(([name, value]) => (
          <div key={name}>
            <dt>{(chatTexts.toolCalls.inputs[name] ?? visible(name)) || texts.input}</dt>
            <dd>{visible(value)}</dd>
          </div>
        ))}
      </dl>
      <details className={styles.json}>
        <summary>{texts.json}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
        <pre tabIndex={0}>{visible(pretty(json))}</pre>
      </details>
    </>
  )
}

/** Invisible shows a text again if it has invisible characters, with their places. */
function Invisible({ text }: { text: string }) {
  const shown = visible(text)
  if (shown === text) return null
  return (
    <div className={styles.json}>
      <div role="alert">
        <FieldErrorText>{texts.invisible}</FieldErrorText>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{shown}</pre>
    </div>
  )
}

function Decision({ waiting }: { waiting: ToolApproval }) {
  const [edited, setEdited] = useState<string | null>(null)
  const [refusing, setRefusing] = useState(false)
  const [reason, setReason] = useState('')
  const [remember, setRemember] = useState(false)
  const { decide, sending, error, refused } = useDecide(waiting)
  const changed = edited === null ? undefined : parseObject(edited)
  const invalid = typeof changed === 'string' ? changed : undefined
  const approve = () => {
    if (typeof changed === 'string') return
    decide({ approved: true, remember, ...(changed && { arguments: changed }) })
  }
  return (
    <form
      className={styles.decision}
      onSubmit={(event) => {
        event.preventDefault()
        if (refusing) decide({ approved: false, reason: reason.trim() })
        else approve()
      }}
    >
      {edited === null ? (
        <Arguments json={waiting.arguments} />
      ) : (
        <>
          <TextArea
            label={texts.edited}
            rows={8}
            autoFocus
            className={styles.code}
            spellCheck={false}
            value={edited}
            onChange={(event) => setEdited(event.target.value)}
            error={invalid ?? refused}
          />
          <Invisible text={edited} />
        </>
      )}
      {refusing ? (
        <TextArea
          label={texts.reason}
          hint={texts.reasonHint}
          optional
          autoFocus
          rows={2}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      ) : (
        <Choice label={texts.remember} hint={texts.rememberHint} checked={remember} onChange={setRemember} />
      )}
      {error && (edited === null || !refused) && <FieldErrorText>{error}</FieldErrorText>}
      <div className={styles.buttons}>
        {refusing ? (
          <>
            <Button type="submit" variant="danger" loading={sending}>
              {texts.confirmRefusal}
            </Button>
            <Button variant="quiet" onClick={() => setRefusing(false)}>
              {texts.back}
            </Button>
          </>
        ) : (
          <>
            <Button type="submit" variant="primary" loading={sending} disabled={invalid !== undefined}>
              {edited === null ? texts.approve : texts.approveEdited}
            </Button>
            <Button onClick={() => setEdited(edited === null ? pretty(waiting.arguments) : null)}>
              {edited === null ? texts.edit : texts.cancelEdit}
            </Button>
            <Button variant="quietDanger" onClick={() => setRefusing(true)}>
              {texts.refuse}
            </Button>
          </>
        )}
      </div>
    </form>
  )
}

/** hasLongNumbers reports whether JSON has numbers that JavaScript would round. */
function hasLongNumbers(json: string): boolean {
  return quoteLongNumbers(json) !== json
}

/** pretty indents JSON, unless that would change its numbers. */
function pretty(json: string): string {
  if (hasLongNumbers(json)) return json
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}

/**
 * parseObject returns the object that JSON contains, or the reason why it cannot be sent: its numbers would be rounded, or
 * of the values with one name only the last one would remain.
 */
function parseObject(json: string): Record<string, unknown> | string {
  if (hasLongNumbers(json)) return texts.longNumber
  let members = 0
  try {
    const value: unknown = JSON.parse(json, (_, item: unknown) => {
      if (isObject(item)) members += Object.keys(item).length
      return item
    })
    if (!isObject(value)) return texts.invalid
    return members < namesIn(json) ? texts.repeatedName : value
  } catch {
    return texts.invalid
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** namesIn counts the names of members in valid JSON. */
function namesIn(json: string): number {
  return [...json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon).length
}
