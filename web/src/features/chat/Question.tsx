import { memo } from 'react'
import type { Skill } from '@/lib/api'
import { cx } from '@/lib/cx'
import { Markdown } from '@/lib/markdown'
import styles from './Chat.module.css'
import { texts } from './texts'
import type { Turn } from './turns'

/** A question, in a raised block at the right: what was typed, as it was typed. */
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
  return (
    <li className={cx(styles.question, settled && styles.settled)} data-turn>
      <h2 className="visually-hidden">{texts.question}</h2>
      <div className={styles.bubble}>{isForm(skill, content) ? <Markdown text={content} /> : content}</div>
    </li>
  )
})

/** The server writes the values of a form as Markdown, the label of each in bold. */
function isForm(skill: Skill, content: string): boolean {
  return (
    skill.form_type === 'form' && skill.form_fields.some(({ label }) => content.startsWith(`**${label}**`))
  )
}
