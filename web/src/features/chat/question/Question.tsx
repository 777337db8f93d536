import { useQuery } from '@tanstack/react-query'
import { ChevronDown, ChevronUp, Pencil } from 'lucide-react'
import { memo, useId, useRef, useState } from 'react'
import { IconButton } from '@/components/IconButton'
import type { Message, Skill } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { Markdown } from '@/lib/markdown'
import { focusComposer } from '@/lib/ui/composer'
import { cx } from '@/lib/ui/cx'
import { LazyPart, useLazyDialog } from '@/lib/ui/lazyPart'
import type { Conversation } from '../conversation/conversation'
import type { Turn } from '../conversation/turns'
import { Pictures } from '../pictures/Pictures'
import { texts } from '../texts'
import { Alternatives } from './Alternatives'
import branches from './Branches.module.css'
import { isLong } from './fold'
import styles from './Question.module.css'
import { QuestionSources } from './QuestionSources'

const editPart = new LazyPart(async () => (await import('./Edit')).Edit)

/** Question shows a question as typed, in a raised block on the right. It folds a long one. */
export const Question = memo(function Question({
  turn,
  skill,
  conversation,
  editing,
  settled,
  shared,
  fixed,
}: {
  turn: Turn
  skill: Skill
  conversation: Conversation
  editing: boolean
  settled: boolean
  /** Whether the thread is shared. The names of other authors are then shown. */
  shared: boolean
  /** Whether the user may not begin branches. */
  fixed: boolean
}) {
  const { message, pending } = turn
  const { content } = message
  const id = useId()
  const asker = useAsker(message, shared && !pending)
  const item = useRef<HTMLLIElement>(null)
  const [open, setOpen] = useState(false)
  const long = isLong(content)
  const Edit = useLazyDialog(editPart, editing, () => conversation.edit(null))

  const toggle = () => {
    // Folding a question from its end would leave the reader far below it.
    if (open) item.current?.scrollIntoView({ block: 'start' })
    setOpen(!open)
  }

  return (
    <li
      className={cx(styles.question, editing && styles.edited)}
      data-turn
      data-settled={(settled && !editing) || undefined}
      data-message={turn.message.id}
      ref={item}
    >
      <h2 className="visually-hidden">{asker === null ? texts.question : texts.project.question(asker)}</h2>
      {asker !== null && <p className={styles.author}>{asker}</p>}
      <div className={styles.bubble}>
        {Edit ? (
          <Edit message={message} skill={skill} conversation={conversation} onDone={focusComposer} />
        ) : (
          <>
            <Pictures pictures={message.pictures ?? []} />
            <QuestionSources ids={message.data_source_ids ?? []} />
            <div id={id} className={cx(styles.asked, long && !open && styles.folded)}>
              {isForm(skill, content) ? <Markdown text={content} /> : content}
            </div>
          </>
        )}
        {long && !Edit && (
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
      {!editing && (
        <div className={branches.under} data-print="hide">
          {!pending && !skill.unavailable_reason && !fixed && (
            <IconButton
              className={branches.pencil}
              size="sm"
              label={texts.edit.open}
              onClick={() => conversation.edit(message.id)}
              data-unfold
            >
              <Pencil size={15} />
            </IconButton>
          )}
          {!fixed && <Alternatives message={message} conversation={conversation} />}
        </div>
      )}
    </li>
  )
})

/** useAsker returns the name of another member who asked in a shared thread, or null. */
function useAsker({ author }: Message, shared: boolean): string | null {
  const { data: me } = useQuery(meQuery)
  if (!shared || (author?.id !== undefined && author.id === me?.id)) return null
  return texts.project.author(author?.name)
}

/** isForm reports whether a question contains form values, which the server writes as Markdown with bold labels. */
function isForm(skill: Skill, content: string): boolean {
  return (
    skill.form_type === 'form' && skill.form_fields.some(({ label }) => content.startsWith(`**${label}**`))
  )
}
