import { Check, CircleAlert } from 'lucide-react'
import { formatNumber } from '@/lib/ui/numbers'
import { roles, inviting as words } from '../../texts'
import styles from '../Dialogs.module.css'
import type { Invitee } from './invitees'

interface InvitePreviewProps {
  invitees: readonly Invitee[]
  /** The number of lines that can be invited. */
  good: number
  seatsLeft: number | undefined
}

/** How each line of a list was parsed. */
export function InvitePreview({ invitees, good, seatsLeft }: InvitePreviewProps) {
  const wrong = invitees.length - good
  return (
    <div className={styles.preview}>
      <h3>{words.preview}</h3>
      <div className={styles.counts} role="status">
        <p>{words.ready(formatNumber(good))}</p>
        {wrong > 0 && <p data-bad>{words.wrong(formatNumber(wrong))}</p>}
        {seatsLeft !== undefined && good > seatsLeft && (
          <p data-warn>{words.overSeats(formatNumber(Math.max(0, seatsLeft)))}</p>
        )}
      </div>
      <Lines invitees={invitees} />
    </div>
  )
}

function Lines({ invitees }: { invitees: readonly Invitee[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <div className={styles.lines} tabIndex={0} role="group" aria-label={words.preview}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.line}</th>
            <th scope="col">{words.name}</th>
            <th scope="col" className={styles.role}>
              {words.role}
            </th>
            <th scope="col">{words.problem}</th>
          </tr>
        </thead>
        <tbody>
          {invitees.map((item) => (
            <tr key={item.line}>
              <th scope="row">{item.line}</th>
              <td>
                <span className={styles.person}>
                  <span>{item.name}</span>
                  <span>{item.email}</span>
                </span>
              </td>
              <td className={styles.role}>{roles[item.role]}</td>
              <td>
                <Verdict invitee={item} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Verdict({ invitee: { error, assumedName } }: { invitee: Invitee }) {
  if (error !== undefined) {
    return (
      <span className={styles.bad}>
        <CircleAlert size={14} aria-hidden />
        {error}
      </span>
    )
  }
  return (
    <>
      <span className={styles.good}>
        <Check size={14} aria-hidden />
        {words.good}
      </span>
      {assumedName && <span className={styles.note}>{words.assumedName}</span>}
    </>
  )
}
