import { useEffect, useMemo, useState } from 'react'
import { ThreadLine } from '@/components/ThreadLine'
import { Markdown } from '@/lib/markdown'
import { useMedia } from '@/lib/ui/media'
import answer from '../answer/Answer.module.css'
import { Citation, CitationsContext } from '../citations/Citation'
import type { Source } from '../citations/citations'
import { Sources } from '../citations/Sources'
import question from '../question/Question.module.css'
import { texts } from '../texts'
import styles from './SampleChat.module.css'

interface SampleSource {
  readonly name: string
  readonly page: number
  readonly quote: string
}

/** SampleChatProps are a question and its answer in the source of the app. */
interface SampleChatProps {
  readonly question: string
  /** Markdown, as a model writes it. */
  readonly answer: string
  /** The sources that the answer cites, in the order of their numbers from 1. */
  readonly sources?: readonly SampleSource[]
  /** Whether the answer is written while it is read. Otherwise, or with reduced motion, it is finished. */
  readonly written?: boolean
}

/** The duration of writing, in ms. Movement of more than five seconds requires a pause button (WCAG 2.2.2). */
const WRITING_MS = 4800

/** SampleChat shows a question and its answer as a chat does, without a server. */
export function SampleChat({
  question: asked,
  answer: text,
  sources = [],
  written = false,
}: SampleChatProps) {
  const shown = useWritten(text, written)
  const writing = shown.length < text.length
  const cited = useMemo(() => sources.map(sampleSource), [sources])
  const citations = useMemo(
    () => ({ byIndex: new Map(cited.map((source) => [source.index, source])), open: () => {} }),
    [cited],
  )
  return (
    <ol className={styles.chat} aria-label={texts.messages}>
      <li className={question.question}>
        <p className="visually-hidden">{texts.question}</p>
        <div className={question.bubble}>
          <div className={question.asked}>{asked}</div>
        </div>
      </li>
      <li className={answer.answer} aria-busy={writing || undefined}>
        <p className="visually-hidden">{texts.answer}</p>
        <div className={answer.line}>
          {writing && (
            <div className={answer.thread}>
              <ThreadLine direction="vertical" running />
            </div>
          )}
        </div>
        <div className={answer.body}>
          <CitationsContext value={citations}>
            <Markdown text={shown} growing={writing} Citation={Citation} />
          </CitationsContext>
          {!writing && <Sources cited={cited} consulted={[]} text={text} onOpen={citations.open} />}
        </div>
      </li>
    </ol>
  )
}

function sampleSource({ name, page, quote }: SampleSource, at: number): Source {
  return {
    passageId: String(at),
    filename: name,
    page,
    quote,
    score: 0,
    index: at + 1,
    locator: '',
    support: null,
    weakOccurrences: null,
    deleted: true, // It cannot be opened, as a deleted file.
    dataSourceId: '',
    url: null,
    site: '',
    publishedOn: '',
  }
}

/** useWritten returns a growing part of the text, and finally all of it. */
function useWritten(text: string, written: boolean): string {
  const still = useMedia('(prefers-reduced-motion: reduce)') || !written
  const [length, setLength] = useState(0)
  useEffect(() => {
    if (still) return
    const began = performance.now()
    let frame = 0
    const write = (now: number) => {
      const next = Math.min(text.length, Math.floor(((now - began) / WRITING_MS) * text.length))
      setLength(Math.max(next, 0))
      if (next < text.length) frame = requestAnimationFrame(write)
    }
    frame = requestAnimationFrame(write)
    return () => cancelAnimationFrame(frame)
  }, [text, still])
  return still ? text : text.slice(0, length)
}
