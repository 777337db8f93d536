import { texts } from './texts'

const MEGABYTE = 1024 * 1024

/** The most that the server takes of one file, in megabytes and in bytes. */
export const MAX_MEGABYTES = 50
export const MAX_BYTES = MAX_MEGABYTES * MEGABYTE

/** The kinds of files that can be read, by the end of their names. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['pdf', 'PDF'],
  ['docx', 'Word'],
  ['docm', 'Word'],
  ['xlsx', 'Excel'],
  ['xlsm', 'Excel'],
  ['pptx', 'PowerPoint'],
  ['pptm', 'PowerPoint'],
  ['txt', 'テキスト'],
  ['text', 'テキスト'],
  ['md', 'Markdown'],
  ['markdown', 'Markdown'],
  ['csv', 'CSV'],
  ['tsv', 'TSV'],
  ['html', 'HTML'],
  ['htm', 'HTML'],
])

/** Those of older formats of Office, and what to save them as. */
const OLD: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['doc', ['Word', '.docx']],
  ['xls', ['Excel', '.xlsx']],
  ['xlsb', ['Excel', '.xlsx']],
  ['ppt', ['PowerPoint', '.pptx']],
])

/** What a file chooser is to offer. */
export const ACCEPTED = [...KINDS.keys()].map((end) => `.${end}`).join(',')

/** Why a file need not be sent, as the server would refuse it; undefined if it may be. */
export function whyRefused({ name, size }: Pick<File, 'name' | 'size'>): string | undefined {
  const end = endOf(name)
  if (end === '') return texts.refused.none
  const old = OLD.get(end)
  if (old !== undefined) return texts.refused.old(...old)
  if (!KINDS.has(end)) return texts.refused.kind
  if (size === 0) return texts.refused.empty
  return size > MAX_BYTES ? texts.refused.size(MAX_MEGABYTES) : undefined
}

/** The kind of a file in a word, which its name decides. */
export function kindOf(name: string): string {
  const end = endOf(name)
  return KINDS.get(end) ?? end.toUpperCase()
}

/** What the pages of a file are. */
export function pageUnit(name: string): 'page' | 'slide' | 'sheet' {
  const kind = kindOf(name)
  if (kind === 'PowerPoint') return 'slide'
  return kind === 'Excel' ? 'sheet' : 'page'
}

/** Whether the server draws the pages of a file. Of all others there is the text. */
export function hasPictures(name: string): boolean {
  return kindOf(name) === 'PDF'
}

/** Whether the text of a file is Markdown. */
export function isMarkdown(name: string): boolean {
  return ['Word', 'PowerPoint', 'Markdown', 'HTML'].includes(kindOf(name))
}

/** A size as a person says it: 512 B, 24 KB, 1.5 MB. Rounded up, so that nothing above a limit looks like the limit. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes <= 1023 * 1024) return `${Math.ceil(bytes / 1024)} KB`
  if (bytes <= 1023 * MEGABYTE) return `${shortly(bytes / MEGABYTE)} MB`
  return `${shortly(bytes / (1024 * MEGABYTE))} GB`
}

/** A number rounded up, with one decimal below 10. */
function shortly(size: number): number {
  const tenths = Math.ceil(size * 10)
  return tenths < 100 ? tenths / 10 : Math.ceil(tenths / 10)
}

/** Whether a file can still be read from where it was chosen. */
export async function isReadable(file: Blob): Promise<boolean> {
  return file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    )
}

function endOf(name: string): string {
  const at = name.lastIndexOf('.')
  return at < 0 ? '' : name.slice(at + 1).toLowerCase()
}
