import { isApple } from '@/lib/browser/platform'

/** Mail is a mail in an answer: its subject and its body as plain text, and the Markdown around it. */
export interface Mail {
  readonly subject: string
  readonly body: string
  /** The sentences that introduce the mail; may be empty. */
  readonly before: string
  /** The points to check before sending; may be empty. */
  readonly after: string
}

const subjectLine = /^[ \t>#]*(?:\*\*)?件名(?:\*\*)?[ \t]*[:：][ \t]*(?:\*\*)?[ \t]*(\S.*)$/m
const bodyLabel = /^[ \t#]*(?:\*\*)?本文(?:\*\*)?[ \t]*[:：]?[ \t]*(?:\*\*)?[ \t]*(?:\n|$)/
const rule = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/m
const fence = /^```(?:mail|email)[ \t]*\n([\s\S]*?)(?:^```[ \t]*$|(?![\s\S]))/m
/** Syntax that a mail does not have: headings, tables and code. */
const markdown = /^[ \t]*(?:#{1,6}[ \t]|\||```)/m

/** The maximum offset of the subject: one or two sentences may introduce the mail. */
const maxBefore = 200

/**
 * readMail parses the format of the mail skill, 件名：…, the body, and below a rule the points to check before sending,
 * or a fence with the language `mail`. It also parses the beginning of a mail, while its answer is `growing`.
 */
export function readMail(answer: string, growing = false): Mail | null {
  // Most answers are not mails. A growing answer is parsed for each frame.
  if (!answer.slice(0, 2 * maxBefore).includes('件名')) return null
  const text = answer.replace(/\r\n?/g, '\n')
  const fenced = fence.exec(text)
  const inner = fenced?.[1] ?? text
  const match = subjectLine.exec(inner)
  if (match === null || (fenced?.index ?? match.index) > maxBefore) return null
  const end = inner.indexOf('\n', match.index)
  if (end === -1) return null
  const rest = inner
    .slice(end + 1)
    .replace(/^(?:[ \t]*\n|[ \t]*-{3,}[ \t]*\n)+/, '')
    .replace(bodyLabel, '')
  const ruled = fenced === null ? rule.exec(rest) : null
  // A line that may become a rule or the end of a fence does not belong to a growing body, nor does half an emphasis.
  const written = growing && ruled === null ? rest.replace(/\n[-*_`]*$|\*+$/, '') : rest
  const body = plain(written.slice(0, ruled?.index).trim())
  if (body === '' || markdown.test(body)) return null
  return {
    subject: plain((match[1] ?? '').trim()),
    body,
    before: withoutRules(fenced ? text.slice(0, fenced.index) : text.slice(0, match.index)),
    after: withoutRules(
      fenced
        ? text.slice(fenced.index + fenced[0].length)
        : ruled
          ? rest.slice(ruled.index + ruled[0].length)
          : '',
    ),
  }
}

function withoutRules(text: string): string {
  return text
    .trim()
    .replace(/(?:^|\n)[ \t]*-{3,}$/, '')
    .trim()
}

/** plain removes emphasis syntax, because mail is plain text. */
function plain(text: string): string {
  return text.replaceAll('**', '').replace(/[ \t]+$/gm, '')
}

/** The maximum length of an address that other programs accept. Windows cuts off longer ones. */
const maxUrl = isApple ? 30_000 : 2000

/** mailUrl returns the address that opens a mail program. It has no body if that would be too long. */
export function mailUrl({ subject, body }: Mail, limit = maxUrl): { url: string; complete: boolean } {
  const short = `mailto:?subject=${encodeURIComponent(subject)}`
  const url = `${short}&body=${encodeURIComponent(body.replaceAll('\n', '\r\n'))}`
  return url.length <= limit ? { url, complete: true } : { url: short, complete: false }
}
