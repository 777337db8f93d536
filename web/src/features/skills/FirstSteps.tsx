import { Check, ChevronRight, X } from 'lucide-react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import styles from './FirstSteps.module.css'
import type { Step } from './firstSteps'
import { texts } from './texts'

const words = texts.firstSteps

/** FirstSteps leads an administrator from the first sign-in to a first answer with sources. */
export function FirstSteps({ steps, onHide }: { steps: readonly Step[]; onHide: () => void }) {
  const next = steps.find(({ done }) => !done)
  return (
    <section className={styles.box} aria-labelledby="first-steps">
      <h2 id="first-steps">{words.title}</h2>
      <p className={styles.count}>{words.count(steps.filter(({ done }) => done).length, steps.length)}</p>
      <IconButton className={styles.hide} size="sm" label={words.hide} onClick={onHide}>
        <X size={16} />
      </IconButton>
      <ol className={styles.steps}>
        {steps.map(({ name, done, to }, index) => (
          <li
            key={name}
            className={styles.step}
            data-done={done || undefined}
            data-next={name === next?.name || undefined}
          >
            <span className={styles.mark} aria-hidden>
              {done ? <Check size={14} strokeWidth={2.5} /> : index + 1}
            </span>
            <div>
              <Link to={to}>
                {words[name].title}
                {done ? (
                  <span className="visually-hidden">{words.done}</span>
                ) : (
                  <ChevronRight size={16} aria-hidden />
                )}
              </Link>
              <p>{words[name].body}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}
