import { type ReactNode, useState } from 'react'
import { ChoiceChip } from '@/components/Chip'
import { Dialog } from '@/components/Dialog'
import type { Me, NewMember } from '@/lib/api'
import { texts } from '../../texts'
import styles from '../Dialogs.module.css'
import { InviteMany } from './InviteMany'
import { InviteOne } from './InviteOne'
import { InviteResults } from './InviteResults'

const words = texts.inviting
const WAYS = ['one', 'many'] as const

/** The properties of both forms in the dialog. */
export interface InviteProps {
  me: Me
  /** The number of free seats; undefined while unknown. */
  seatsLeft: number | undefined
  onClose: () => void
}

/** Invites people: one by fields, or many from a list; then shows the result for each. */
export function InviteDialog(props: InviteProps) {
  const [way, setWay] = useState<(typeof WAYS)[number]>('one')
  const [people, setPeople] = useState<readonly NewMember[] | null>(null)
  const [text, setText] = useState('')

  if (people !== null) {
    return (
      <InviteResults
        people={people}
        onClose={props.onClose}
        onMore={() => {
          setText('')
          setPeople(null)
        }}
      />
    )
  }
  const ways = (
    <div className={styles.ways} role="group" aria-label={words.ways}>
      {WAYS.map((item) => (
        <ChoiceChip key={item} selected={item === way} onClick={() => setWay(item)}>
          {words[item]}
        </ChoiceChip>
      ))}
    </div>
  )
  return way === 'one' ? (
    <InviteOne {...props} ways={ways} />
  ) : (
    <InviteMany {...props} ways={ways} text={text} onText={setText} onSend={setPeople} />
  )
}

/** The frame of both forms. */
export function InviteFrame({
  wide = false,
  ways,
  actions,
  onClose,
  children,
}: {
  wide?: boolean
  ways: ReactNode
  actions: ReactNode
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={words.title} wide={wide} onClose={onClose} actions={actions}>
      <div className={styles.body}>
        <p className={styles.quiet}>{words.lead}</p>
        {ways}
        {children}
      </div>
    </Dialog>
  )
}
