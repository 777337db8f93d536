import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { call, type Skill, type SkillContent, type Thread } from '@/lib/api'
import styles from './Editor.module.css'
import { texts } from './texts'

/** RenderTrial renders the conversation that tries a skill. */
export type RenderTrial = (skill: Skill, start: (requestId: string) => Promise<Thread>) => ReactNode

interface TrialPaneProps {
  readonly skill: Skill
  readonly content: SkillContent
  readonly slot: string
  readonly trial: RenderTrial
}

interface Tried {
  readonly key: number
  readonly skill: Skill
  readonly content: SkillContent
}

/** TrialPane tries the edited skill in its state at the start of the trial. */
export function TrialPane({ skill, content, slot, trial }: TrialPaneProps) {
  const [tried, setTried] = useState<Tried | null>(null)
  const begin = () => setTried({ key: (tried?.key ?? 0) + 1, skill, content })
  const start = (requestId: string): Promise<Thread> =>
    call('trySkill', { body: { request_id: requestId, slot, content: tried?.content ?? content } })
  const pane = useRef<HTMLElement>(null)
  // On a narrow screen the pane is below the form.
  useEffect(() => {
    if (tried) pane.current?.scrollIntoView({ block: 'nearest' })
  }, [tried])
  return (
    <section className={styles.trial} ref={pane} aria-label={texts.trial.title}>
      <header className={styles.trialHead}>
        <h2>{texts.trial.title}</h2>
        <Button size="sm" onClick={begin}>
          {tried ? texts.trial.again : texts.trial.begin}
        </Button>
      </header>
      <p className={styles.hint} role="status">
        {tried && tried.content !== content ? texts.trial.stale : texts.trial.lead}
      </p>
      {tried && (
        <div className={styles.chat} key={tried.key}>
          {trial(tried.skill, start)}
        </div>
      )}
    </section>
  )
}
