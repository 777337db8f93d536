import type { Message } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { type DocxPart, docxType, toDocx } from '@/lib/docx'
import { formatFull } from '@/lib/ui/dates'
import { truncate } from '@/lib/ui/shorten'
import { sourceLines } from '../citations/citations'
import { texts } from '../texts'
import type { Turn } from './turns'

/** toMarkdown returns a thread as a Markdown document: the questions quoted, the answers unchanged. */
export function toMarkdown(
  title: string,
  skillName: string,
  turns: readonly Turn[],
  now = new Date(),
): string {
  const parts = [`# ${title}`, savedNote(skillName, now)]
  for (const { message } of turns) {
    if (message.role === 'user') {
      parts.push('---', `## ${texts.menu.you}`, message.content.replace(/^/gm, '> '))
      if (message.pictures?.length) parts.push(texts.menu.withoutPictures(message.pictures.length))
    } else if (message.content !== '') {
      parts.push(`## ${texts.menu.answer}`, message.content)
      const lines = sourceLines(message)
      if (lines.length > 0)
        parts.push(`### ${texts.menu.sources}`, lines.map((line) => `- ${line}`).join('\n'))
    }
  }
  return `${parts.join('\n\n')}\n`
}

function savedNote(skillName: string, now: Date): string {
  return `${skillName}・${texts.menu.savedAt(formatFull(now.toISOString()))}`
}

/** threadParts returns a thread as the parts of a Word document: the questions quoted, the answers below their headings. */
export function threadParts(
  title: string,
  skillName: string,
  turns: readonly Turn[],
  now = new Date(),
): readonly DocxPart[] {
  const parts: DocxPart[] = [
    { kind: 'title', text: title },
    { kind: 'note', text: savedNote(skillName, now) },
  ]
  for (const { message } of turns) {
    if (message.role === 'user') {
      parts.push(
        { kind: 'heading', level: 1, text: texts.menu.you },
        { kind: 'quote', text: message.content },
      )
      const count = message.pictures?.length
      if (count) parts.push({ kind: 'quote', text: texts.menu.withoutPictures(count) })
    } else if (message.content !== '') {
      parts.push({ kind: 'heading', level: 1, text: texts.menu.answer }, ...answerParts(message, 2))
    }
  }
  return parts
}

/** answerParts returns an answer and its cited sources as the parts of a Word document. */
export function answerParts(message: Message, level = 1): readonly DocxPart[] {
  const parts: DocxPart[] = [{ kind: 'markdown', level, text: message.content }]
  const lines = sourceLines(message)
  if (lines.length > 0) parts.push({ kind: 'heading', level, text: texts.menu.sources })
  return [...parts, ...lines.map((text) => ({ kind: 'source', text }) as const)]
}

/** saveDocx saves a Word document under the title's name. */
export async function saveDocx(title: string, parts: readonly DocxPart[]): Promise<void> {
  download(fileName(title, '.docx'), await toDocx(title, parts), docxType)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must be removed too.
const unsafe = /[\u0000-\u001f\u007f\\/:*?"<>|\u202a-\u202e\u2066-\u2069\s]+/g

/** fileName returns a name that is valid on every file system. */
export function fileName(title: string, ending = '.md'): string {
  const name = truncate(title.replace(unsafe, ' ').trim(), 60)
  return `${name.replace(/^\.+|[. ]+$/g, '') || texts.untitled}${ending}`
}
