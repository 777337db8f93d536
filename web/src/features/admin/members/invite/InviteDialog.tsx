import { useState } from 'react'
import { ChoiceChip } from '@/components/Chip'
import type { NewMember, Role } from '@/lib/api'
import { inviting as words } from '../../texts'
import styles from '../Dialogs.module.css'
import type { InviteProps } from './InviteFrame'
import { InviteMany } from './InviteMany'
import { InviteOne } from './InviteOne'
import { InviteResults } from './InviteResults'
import { personKey, withoutPeople } from './invitees'
import type { Outcome } from './inviteRun'

const WAYS = ['one', 'many'] as const

/** Invites people: one by fields, or many from a list; then shows the result for each. */
export function InviteDialog(props: InviteProps) {
  const [way, setWay] = useState<(typeof WAYS)[number]>('one')
  const [people, setPeople] = useState<readonly NewMember[] | null>(null)
  const [text, setText] = useState('')
  const [role, setRole] = useState<Role>('general-user')
  const [refused, setRefused] = useState<ReadonlyMap<string, string>>(new Map())
  // The lines of people who are not members yet remain.
  const goOn = (outcomes: readonly Outcome[]) => {
    const members = outcomes.filter(({ result }) => result === 'invited' || result === 'already_member')
    setText(
      withoutPeople(
        text,
        members.map(({ person }) => person.email),
      ),
    )
    setRefused(
      new Map(
        outcomes.flatMap(({ person, result, message }) => {
          if (result === 'refused') return [[personKey(person), message ?? words.refused] as const]
          return result === 'unavailable' ? [[personKey(person), words.results[result]] as const] : []
        }),
      ),
    )
    setPeople(null)
  }

  if (people !== null) {
    return <InviteResults people={people} onClose={props.onClose} onMore={goOn} />
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
    <InviteMany
      {...props}
      ways={ways}
      text={text}
      role={role}
      refused={refused}
      onText={setText}
      onRole={setRole}
      onSend={setPeople}
    />
  )
}
