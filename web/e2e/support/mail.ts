import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A received mail. */
export interface Mail {
  readonly to: string
  readonly subject: string
  /** Its plain text. */
  readonly text: string
  /** The single link in the text. */
  readonly link: string
}

/** readMails returns the mails that a server has stored instead of sending them, oldest first. */
export async function readMails(folder: string): Promise<Mail[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.eml')).sort()
  return Promise.all(files.map(async (name) => parse(await readFile(join(folder, name), 'utf8'))))
}

/** The value of a labelled line of a mail: `fact(mail, '仮パスワード')`. */
export function fact(mail: Mail, label: string): string {
  const found = new RegExp(`^${label}：(.+)$`, 'm').exec(mail.text)?.[1]
  if (found === undefined) throw new Error(`the mail has no line ${label}:\n${mail.text}`)
  return found.trim()
}

// The part of RFC 5322, 2045 and 2047 that the server's mails use: base64 parts and encoded words in headers.
function parse(source: string): Mail {
  const [head, body] = split(source)
  const boundary = /boundary="?([^";\r\n]+)/.exec(head['content-type'] ?? '')?.[1]
  const parts =
    boundary === undefined ? [source] : body.split(`--${boundary}`).map((part) => part.trimStart())
  const plain = parts.map(split).find(([{ 'content-type': type }]) => type?.startsWith('text/plain'))
  if (plain === undefined) throw new Error(`a mail without plain text:\n${source}`)
  const text = Buffer.from(plain[1], 'base64').toString('utf8').replaceAll('\r\n', '\n')
  const to = /<([^>]+)>/.exec(head.to ?? '')?.[1] ?? ''
  return { to, subject: words(head.subject ?? ''), text, link: /^https?:\S+$/m.exec(text)?.[0] ?? '' }
}

function split(source: string): [head: Record<string, string | undefined>, body: string] {
  const end = /\r?\n\r?\n/.exec(source)
  const at = end?.index ?? source.length
  const lines = source
    .slice(0, at)
    .replace(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)
  const head = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return [Object.fromEntries(head), source.slice(at + (end?.[0].length ?? 0))]
}

function words(text: string): string {
  const encoded = /=\?utf-8\?([bq])\?([^?]*)\?=(\s+(?==\?))?/gi
  return text.replace(encoded, (_, form: string, word: string) => {
    if (form.toLowerCase() === 'b') return Buffer.from(word, 'base64').toString('utf8')
    const bytes = word
      .replaceAll('_', ' ')
      .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    return Buffer.from(bytes, 'latin1').toString('utf8')
  })
}
