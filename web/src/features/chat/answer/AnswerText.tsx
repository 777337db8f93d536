import { atom, useAtomValue } from 'jotai'
import { useContext, useMemo } from 'react'
import { Markdown } from '@/lib/markdown'
import type { LiveAnswer } from '@/lib/stream'
import { Citation, CitationsContext } from '../citations/Citation'
import { markUnsupported } from '../citations/citations'
import { MailCard } from './MailCard'
import { readMail } from './mail'

const noText = atom('')

/**
 * AnswerText shows the text of an answer; a mail is a card. It is the only component that renders again for each delta
 * of the text.
 */
export function AnswerText({
  live,
  stored,
  cut,
}: {
  live: LiveAnswer | null
  stored: string
  /** Whether the text ended early. */
  cut: boolean
}) {
  const text = useAtomValue(live?.textAtom ?? noText)
  const shown = live ? text : stored
  const growing = live !== null
  const mail = useMemo(() => readMail(shown, growing), [shown, growing])
  if (mail === null) return <Formatted text={shown} growing={growing} cut={cut} />
  return (
    <>
      {mail.before !== '' && <Formatted text={mail.before} />}
      <MailCard mail={mail} growing={growing} />
      {mail.after !== '' && <Formatted text={mail.after} growing={growing} cut={cut} />}
    </>
  )
}

function Formatted({
  text,
  growing = false,
  cut = false,
}: {
  text: string
  growing?: boolean
  cut?: boolean
}) {
  const citations = useContext(CitationsContext)
  const marked = useMemo(() => markUnsupported(text, citations?.byIndex.values() ?? []), [text, citations])
  return <Markdown text={marked} growing={growing} cut={cut} Citation={Citation} />
}
