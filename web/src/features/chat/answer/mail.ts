/** Mail is a mail in an answer: its subject and its body. */
export interface Mail {
  readonly subject: string
  readonly body: string
}

const subjectLine = /^[ \t>#]*(?:\*\*)?件名(?:\*\*)?[ \t]*[:：][ \t]*(?:\*\*)?[ \t]*(\S.*)$/m
const bodyLabel = /^[ \t#]*(?:\*\*)?本文(?:\*\*)?[ \t]*[:：]?[ \t]*(?:\*\*)?[ \t]*(?:\n|$)/

/** The maximum offset of the subject: one or two sentences may introduce the mail. */
const maxBefore = 200

/**
 * readMail parses the format of the mail skill: 件名：…, the body, and below a rule the points to check before sending.
 */
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

/** plain removes emphasis syntax, because mail is plain text. */
function plain(text: string): string {
  return text.replaceAll('**', '').replace(/[ \t]+$/gm, '')
}
