import { ChevronDown, ChevronUp } from 'lucide-react'
import { memo, useId, useRef, useState } from 'react'
import type { Skill } from '@/lib/api'
import { Markdown } from '@/lib/markdown'
import { cx } from '@/lib/ui/cx'
import styles from './Chat.module.css'
import { isLong } from './fold'
import { texts } from './texts'
import type { Turn } from './turns'

/** A question, in a raised block at the right: what was typed, as it was typed. A long one is folded. */
export const Question = memo(function Question({
  turn,
  skill,
  settled,
}: {
  turn: Turn
  skill: Skill
  settled: boolean
}) {
  const { content } = turn.message
  const id = useId()
  const item = useRef<HTMLLIElement>(null)
  const [open, setOpen] = useState(false)
  const long = isLong(content)

  const toggle = () => {
    // What is folded from its end would leave the reader far below it.
    if (open) item.current?.scrollIntoView({ block: 'start' })
    setOpen(!open)
  }

  return (
    <li
      className={cx(styles.question, settled && styles.settled)}
      data-turn
      data-message={turn.message.id}
      ref={item}
    >
      <h2 className="visually-hidden">{texts.question}</h2>
      <div className={styles.bubble}>
        <div id={id} className={cx(styles.asked, long && !open && styles.folded)}>
          {isForm(skill, content) ? <Markdown text={content} /> : content}
        </div>
        {long && (
          <button
            type="button"
            className={styles.fold}
            aria-expanded={open}
            aria-controls={id}
            data-unfold
            data-print="hide"
            onClick={toggle}
          >
            {open ? <ChevronUp size={16} aria-hidden /> : <ChevronDown size={16} aria-hidden />}
            {open ? texts.fold : texts.unfold}
          </button>
        )}
      </div>
    </li>
  )
})

/** The server writes the values of a form as Markdown, the label of each in bold. */
function isForm(skill: Skill, content: string): boolean {
  return (
    skill.form_type === 'form' && skill.form_fields.some(({ label }) => content.startsWith(`**${label}**`))
  )
}
