import { useEffect, useRef, useState } from 'react'
import { type Delay, useDelay } from '../answer/Waiting'
import { isWriting, type Turn } from '../conversation/turns'
import { useView } from '../conversation/view'
import { texts } from '../texts'

/**
 * Announcer announces to screen readers that an answer is running, each kind of delay once, and the finished answer. It
 * does not announce tokens.
 */
export function Announcer({ turn }: { turn: Turn | undefined }) {
  const [said, setSaid] = useState('')
  const writing = isWriting(turn)
  const before = useRef<string | null>(null)
  const earlier = useRef<string | null>(null)
  const delay = useDelay(useView(turn?.live))
  const delays = useRef(new Set<Delay>())

  useEffect(() => {
    const id = turn?.message.id ?? null
    if (writing && before.current === null) {
      delays.current.clear()
      setSaid(texts.status.writing)
    }
    // Another branch may have replaced the answer. The id of a new answer changes when the server assigns one.
    const created = before.current?.startsWith('answer:') === true
    if (!writing && created && id === earlier.current) {
      setSaid('') // The question was refused.
    } else if (!writing && (created || before.current === id) && turn?.message.role === 'assistant') {
      setSaid(outcome(turn))
    }
    before.current = writing ? id : null
    if (!writing) earlier.current = id
  }, [writing, turn])

  useEffect(() => {
    if (delay === null || delays.current.has(delay)) return
    delays.current.add(delay)
    setSaid(texts.delay[delay])
  }, [delay])

  return (
    <div className="visually-hidden" role="status" aria-live="polite" aria-atomic="true">
      {said}
    </div>
  )
}

function outcome({ message }: Turn): string {
  if (message.status === 'failed') return texts.status.failedNotice(message.error?.detail ?? '')
  if (message.finish_reason === 'stopped') return texts.status.stopped
  return message.proofread ? texts.status.proofread(message.proofread.changes.length) : heard(message.content)
}

/** The maximum length of a spoken answer, in characters. The listener cannot skip parts of it. */
const heardMax = 2000

/** heard returns the text of an answer to read out. It cuts a very long one at the end of a sentence. */
function heard(markdown: string): string {
  const beginning = markdown.slice(0, 2 * heardMax)
  const text = spoken(beginning)
  if (beginning === markdown && text.length <= heardMax) return texts.status.finished(text)
  const end = text.lastIndexOf('。', heardMax - 1) + 1
  return texts.status.begun(text.slice(0, end > 0 ? end : heardMax))
}

/** spoken removes Markdown syntax. */
function spoken(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\|)[ \t]+/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\[\d{1,3}\]/g, '')
    .replace(/^[ \t]*\|?[ \t:|-]+\|?[ \t]*$/gm, '')
    .replace(/[*_~`|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
