import { useEffect, useId, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { formatNumber } from '@/lib/ui/numbers'
import { texts } from '../texts'
import styles from './Instructions.module.css'
import { mergeTexts } from './merge'

const words = texts.instructions.conflict

interface ConflictProps {
  /** The instructions before both changes. */
  readonly base: string
  readonly theirs: string
  readonly mine: string
  readonly most: number
  readonly busy: boolean
  readonly onSave: (text: string) => void
  readonly onDiscard: () => void
}

/** Conflict shows two changes of the instructions by two members, and edits the text that is saved instead of both. */
export function Conflict({ base, theirs, mine, most, busy, onSave, onDiscard }: ConflictProps) {
  const [merged] = useState(() => mergeTexts(base, theirs, mine))
  const [text, setText] = useState(merged.text)
  const heading = useRef<HTMLHeadingElement>(null)
  const length = [...text].length
  useEffect(() => heading.current?.focus(), [])
  return (
    <section className={styles.conflict} aria-labelledby="conflict">
      <div role="alert">
        <h2 id="conflict" tabIndex={-1} ref={heading}>
          {words.title}
        </h2>
        <p>{words.lead}</p>
        <p>{merged.conflicts === 0 ? words.clean : words.both(merged.conflicts)}</p>
      </div>
      <div className={styles.both}>
        <Version title={words.theirs} text={theirs} use={words.useTheirs} onUse={() => setText(theirs)} />
        <Version title={words.mine} text={mine} use={words.useMine} onUse={() => setText(mine)} />
      </div>
      <TextArea
        className={styles.text}
        label={words.result}
        hint={texts.instructions.count(formatNumber(length), formatNumber(most))}
        error={length > most ? texts.instructions.tooLong(formatNumber(most)) : undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.actions}>
        <Button variant="primary" disabled={length > most} loading={busy} onClick={() => onSave(text)}>
          {words.save}
        </Button>
        <Button disabled={text === merged.text} onClick={() => setText(merged.text)}>
          {words.useBoth}
        </Button>
        <Button variant="quietDanger" onClick={onDiscard}>
          {words.discard}
        </Button>
      </div>
    </section>
  )
}

function Version({
  title,
  text,
  use,
  onUse,
}: {
  title: string
  text: string
  use: string
  onUse: () => void
}) {
  const id = useId()
  return (
    <section className={styles.version} aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled with the keyboard. */}
      <p className={styles.read} tabIndex={0}>
        {text || words.empty}
      </p>
      <Button size="sm" onClick={onUse}>
        {use}
      </Button>
    </section>
  )
}
