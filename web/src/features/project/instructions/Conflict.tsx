import { useEffect, useRef } from 'react'
import { Button } from '@/components/Button'
import { texts } from '../texts'
import styles from './Instructions.module.css'
import type { Merge } from './merge'

const words = texts.instructions.conflict

/** Changes are two members' changes of the same instructions. */
export interface Changes {
  readonly theirs: string
  readonly mine: string
  readonly merged: Merge
}

/** Conflict shows both changes. `onUse` is called to replace the merged text by one of them. */
export function Conflict({ merged, onUse, ...versions }: Changes & { onUse: (text: string) => void }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <>
      <div role="alert">
        <h2 id="conflict" tabIndex={-1} ref={heading}>
          {words.title}
        </h2>
        <p>{words.lead}</p>
        <p>{merged.conflicts === 0 ? words.clean : words.both(merged.conflicts)}</p>
      </div>
      <div className={styles.both}>
        {(['theirs', 'mine'] as const).map((one) => (
          <section key={one} className={styles.version} aria-labelledby={one}>
            <h3 id={one}>{words[one].title}</h3>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled with the keyboard. */}
            <p className={styles.read} tabIndex={0}>
              {versions[one] || words.empty}
            </p>
            <Button size="sm" onClick={() => onUse(versions[one])}>
              {words[one].use}
            </Button>
          </section>
        ))}
      </div>
    </>
  )
}
