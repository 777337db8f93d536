import { atom, useAtomValue } from 'jotai'
import { useEffect, useState } from 'react'
import type { Message } from '@/lib/api'
import { Markdown } from '@/lib/markdown'
import type { LiveAnswer, Thinking } from '@/lib/stream'
import { texts } from '../texts'
import { Fold } from './Fold'
import styles from './Reasoning.module.css'

const noText = atom('')

/** storedThinking returns the reasoning that is stored with an answer. */
export function storedThinking(message: Message): Thinking | null {
  return message.reasoning ? { startedAt: 0, durationMs: message.reasoning_ms ?? 0 } : null
}

/** Reasoning shows the model's reasoning, folded. It is not part of the answer, of copies or of prints. */
export function Reasoning({
  live,
  thinking,
  stored,
}: {
  live: LiveAnswer | null
  thinking: Thinking | null
  stored: string
}) {
  if (thinking === null) return null
  const { startedAt, durationMs } = thinking
  return (
    <Fold
      running={durationMs === null}
      summary={durationMs === null ? <Running since={startedAt} /> : done(durationMs)}
    >
      <Thoughts live={live} stored={stored} />
    </Fold>
  )
}

/** Thoughts is the only component that renders again for each delta of the reasoning, and only while unfolded. */
function Thoughts({ live, stored }: { live: LiveAnswer | null; stored: string }) {
  const text = useAtomValue(live?.reasoningAtom ?? noText)
  return (
    <div className={styles.thoughts}>
      <Markdown text={live ? text : stored} growing={live !== null} />
    </div>
  )
}

function Running({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return texts.reasoning.running(time(now - since))
}

function done(durationMs: number): string {
  return durationMs > 0 ? texts.reasoning.done(time(durationMs)) : texts.reasoning.unknown
}

function time(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 60) return texts.reasoning.seconds(seconds)
  return texts.reasoning.minutes(Math.floor(seconds / 60), seconds % 60)
}
