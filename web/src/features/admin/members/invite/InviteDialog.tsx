import { useState } from 'react'
import { ChoiceChip } from '@/components/Chip'
import type { NewMember } from '@/lib/api'
import { texts } from '../../texts'
import styles from '../Dialogs.module.css'
import type { InviteProps } from './InviteFrame'
import { InviteMany } from './InviteMany'
import { InviteOne } from './InviteOne'
import { InviteResults } from './InviteResults'

const words = texts.inviting
const WAYS = ['one', 'many'] as const

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
