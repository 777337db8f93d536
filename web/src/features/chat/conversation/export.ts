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
  const parts = [`# ${title}`, `${skillName}・${texts.menu.savedAt(formatFull(now.toISOString()))}`]
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must be removed too.
const unsafe = /[\u0000-\u001f\u007f\\/:*?"<>|\u202a-\u202e\u2066-\u2069\s]+/g

/** fileName returns a name that is valid on every file system. */
export function fileName(title: string, ending = '.md'): string {
  const name = truncate(title.replace(unsafe, ' ').trim(), 60)
  return `${name.replace(/^\.+|[. ]+$/g, '') || texts.untitled}${ending}`
}
