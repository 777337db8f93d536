import { ArrowUpRight } from 'lucide-react'
import { SkillIcon } from '@/components/SkillIcon'
import { ThreadLine } from '@/components/ThreadLine'
import { useSkillNote } from '@/entities/skill/skillNote'
import type { Skill } from '@/lib/api'
import { useLazyPart } from '@/lib/ui/lazyPart'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { readAttachments } from '../draft/attachments'
import { draftAtom, draftKey } from '../draft/drafts'
import { texts } from '../texts'
import { formPart } from './formPart'
import styles from './Start.module.css'

/** Start shows the start of a thread: the skill's description and its suggestions or form. */
export function Start({
  skill,
  conversation,
  heading: Heading = 'h1',
  onAsk,
}: {
  skill: Skill
  conversation: Conversation
  /** The heading level of the skill's name: h3 within a page. */
  heading?: 'h1' | 'h3'
  onAsk: (question: Question) => void
}) {
  const blocked = Boolean(skill.unavailable_reason)
  const note = useSkillNote(skill)
  const form = skill.form_type === 'form'
  const SkillForm = useLazyPart(formPart, form)
  return (
    <div className={styles.start}>
      <header className={styles.head}>
        <SkillIcon path={skill.icon_path} size={44} />
        <Heading className={styles.name}>{skill.name}</Heading>
        <span className={styles.thread}>
          <ThreadLine />
        </span>
        <p className={styles.description}>{skill.description}</p>
      </header>
      {note && (form || !blocked) && <p className={styles.blocked}>{note}</p>}
      {SkillForm && (
        <SkillForm
          skill={skill}
          conversation={conversation}
          disabled={blocked}
          focused={Heading === 'h1'}
          onAsk={onAsk}
        />
      )}
      {!form && !blocked && skill.suggestions.length > 0 && (
        <section aria-label={texts.suggestions}>
          <ul className={styles.suggestions}>
            {skill.suggestions.map((suggestion) => (
              <li key={suggestion}>
                <button
                  type="button"
                  className={styles.suggestion}
                  onClick={() => propose(skill, conversation, suggestion)}
                >
                  <span>{suggestion}</span>
                  <ArrowUpRight size={16} aria-hidden />
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

/**
 * propose puts a suggestion into the composer, after the text that the user has written. Many suggestions need a text to
 * be added.
 */
function propose(skill: Skill, conversation: Conversation, suggestion: string): void {
  const key = draftKey(skill.id, conversation.state.thread?.id)
  if (readAttachments(key).waiting) return
  const written = store.get(draftAtom(key)).trimEnd()
  const unchanged = skill.suggestions.includes(written)
  const text = written === '' || unchanged ? suggestion : `${written}\n\n${suggestion}`
  store.set(draftAtom(key), text)
  const field = document.querySelector<HTMLTextAreaElement>('[data-composer]')
  field?.focus()
  // The value changes with the next rendering. Then put the cursor at its end.
  requestAnimationFrame(() => field?.setSelectionRange(text.length, text.length))
}
