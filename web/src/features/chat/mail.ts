/** A mail in an answer: what goes into its subject field and what into its text. */
export interface Mail {
  readonly subject: string
  readonly body: string
}

const subjectLine = /^[ \t>#]*(?:\*\*)?件名(?:\*\*)?[ \t]*[:：][ \t]*(?:\*\*)?[ \t]*(\S.*)$/m
const bodyLabel = /^[ \t#]*(?:\*\*)?本文(?:\*\*)?[ \t]*[:：]?[ \t]*(?:\*\*)?[ \t]*(?:\n|$)/

/** How far down the subject may stand: a sentence or two may introduce the mail. */
const maxBefore = 200

/** Reads a mail as the mail skill writes it: 件名：…, the text, and after a rule what to check before sending. */
export function readMail(answer: string): Mail | null {
  const text = answer.replace(/\r\n?/g, '\n')
  const match = subjectLine.exec(text)
  if (match === null || match.index > maxBefore) return null
  const end = text.indexOf('\n', match.index)
  if (end === -1) return null
  const rest = text
    .slice(end + 1)
    .replace(/^(?:[ \t]*\n|[ \t]*-{3,}[ \t]*\n)+/, '')
    .replace(bodyLabel, '')
  const body = plain((rest.split(/^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/m)[0] ?? '').trim())
  return body === '' ? null : { subject: plain((match[1] ?? '').trim()), body }
}

/** Mail is plain text: the marks of emphasis are not part of it. */
function plain(text: string): string {
  return text.replaceAll('**', '').replace(/[ \t]+$/gm, '')
}
