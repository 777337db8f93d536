import { Check, CircleAlert } from 'lucide-react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { FieldErrorText } from '@/components/Field'
import { Spinner } from '@/components/Spinner'
import { errorMessage, type NewMember } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { refreshMembers } from '../../queries'
import { common, inviting as words } from '../../texts'
import { inviteMembers } from '../changes'
import styles from '../Dialogs.module.css'
import { InviteRun, type Outcome } from './inviteRun'

interface InviteResultsProps {
  people: readonly NewMember[]
  onClose: () => void
  onMore: (outcomes: readonly Outcome[]) => void
}

/** Sends the invitations, and shows the result of each. It cannot be closed while it sends. */
export function InviteResults({ people, onClose, onMore }: InviteResultsProps) {
  const sending = useSending(people)
  const { outcomes, busy, error } = sending
  const invited = count(outcomes, (item) => item.result === 'invited')
  const unsent = count(outcomes, (item) => item.result === null)
  const failed = count(outcomes, (item) => item.result === 'failed')
  const done = formatNumber(outcomes.length - unsent)
  const all = formatNumber(outcomes.length)

  return (
    <Dialog
      title={words.done}
      wide
      onClose={busy ? () => {} : onClose}
      actions={
        busy ? undefined : (
          <>
            <Button onClick={() => onMore(outcomes)}>{words.more}</Button>
            {unsent > 0 && <Button onClick={sending.goOn}>{words.goOn(formatNumber(unsent))}</Button>}
            {unsent === 0 && failed > 0 && (
              <Button onClick={sending.retryFailed}>{words.retryFailed(formatNumber(failed))}</Button>
            )}
            <Button variant="primary" onClick={onClose}>
              {common.close}
            </Button>
          </>
        )
      }
    >
      <div className={styles.body}>
        <p className={styles.summary} role="status">
          {busy && <Spinner size={16} />}
          {busy ? words.sending(done, all) : words.summary(formatNumber(invited), all)}
        </p>
        <div role="alert">{error !== null && <FieldErrorText>{errorMessage(error)}</FieldErrorText>}</div>
        <Outcomes outcomes={outcomes} />
      </div>
    </Dialog>
  )
}

/** Sends once when first shown. On request, it sends the remaining and the failed invitations again. */
function useSending(people: readonly NewMember[]) {
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>(() =>
    people.map((person) => ({ person, result: null })),
  )
  const [busy, setBusy] = useState(true)
  const [error, setError] = useState<unknown>(null)
  const run = useRef<InviteRun>(null)

  // `before` has the results to keep.
  const send = useCallback(async (next: InviteRun, before: readonly Outcome[]) => {
    run.current = next
    const show = (now: readonly Outcome[]) => {
      const byEmail = new Map(now.map((item) => [item.person.email, item]))
      setOutcomes(before.map((item) => byEmail.get(item.person.email) ?? item))
    }
    setBusy(true)
    setError(null)
    show(next.outcomes)
    try {
      await next.run(show)
    } catch (cause) {
      setError(cause)
    }
    setBusy(false)
    void refreshMembers()
  }, [])

  const first = useRef(false)
  useEffect(() => {
    if (first.current) return
    first.current = true
    void send(
      new InviteRun(people, inviteMembers),
      people.map((person) => ({ person, result: null })),
    )
  }, [people, send])

  const goOn = () => void (run.current && send(run.current, outcomes))
  const retryFailed = () => {
    const again = outcomes.filter((item) => item.result === 'failed').map((item) => item.person)
    void send(new InviteRun(again, inviteMembers), outcomes)
  }
  return { outcomes, busy, error, goOn, retryFailed }
}

function count(outcomes: readonly Outcome[], wanted: (item: Outcome) => boolean): number {
  return outcomes.filter(wanted).length
}

function Outcomes({ outcomes }: { outcomes: readonly Outcome[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <div className={styles.lines} tabIndex={0} role="group" aria-label={words.done}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col" className={styles.result}>
              {words.result}
            </th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map(({ person, result, message }) => (
            <tr key={person.email}>
              <td>
                <span className={styles.person}>
                  <span>{person.name}</span>
                  <span>{person.email}</span>
                </span>
              </td>
              <td>
                <Result result={result} message={message} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Result({ result, message }: { result: Outcome['result']; message: string | undefined }) {
  if (result === null) return <span className={styles.quiet}>{words.unsent}</span>
  if (result === 'invited') {
    return (
      <span className={styles.good}>
        <Check size={14} aria-hidden />
        {words.results.invited}
      </span>
    )
  }
  if (result === 'already_member') return words.results.already_member
  return (
    <span className={styles.bad}>
      <CircleAlert size={14} aria-hidden />
      {result === 'refused' ? (message ?? words.refused) : words.results[result]}
    </span>
  )
}
