import { texts } from './texts'

const MEGABYTE = 1024 * 1024

/** The server's maximum size of a file, in megabytes and in bytes. */
export const MAX_MEGABYTES = 50
export const MAX_BYTES = MAX_MEGABYTES * MEGABYTE

/** The kinds of supported files, by file extension. */
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

/** Old Office formats by file extension, with the format to save them as. */
const OLD: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['doc', ['Word', '.docx']],
  ['xls', ['Excel', '.xlsx']],
  ['xlsb', ['Excel', '.xlsx']],
  ['ppt', ['PowerPoint', '.pptx']],
])

/** The file extensions for the file picker. */
export const ACCEPTED = [...KINDS.keys()].map((end) => `.${end}`).join(',')

/** refusalReason returns why the server would refuse a file; undefined if it would not. */
export function refusalReason({ name, size }: Pick<File, 'name' | 'size'>): string | undefined {
  const end = endOf(name)
  if (end === '') return texts.refused.none
  const old = OLD.get(end)
  if (old !== undefined) return texts.refused.old(...old)
  if (!KINDS.has(end)) return texts.refused.kind
  if (size === 0) return texts.refused.empty
  return size > MAX_BYTES ? texts.refused.size(MAX_MEGABYTES) : undefined
}

/** kindOf returns the kind of a file by its name. */
export function kindOf(name: string): string {
  const end = endOf(name)
  return KINDS.get(end) ?? end.toUpperCase()
}

/** pageUnit returns the unit of a file's pages. */
export function pageUnit(name: string): 'page' | 'slide' | 'sheet' {
  const kind = kindOf(name)
  if (kind === 'PowerPoint') return 'slide'
  return kind === 'Excel' ? 'sheet' : 'page'
}

/** hasPictures reports whether the server renders the pages of a file. Other files have only text. */
export function hasPictures(name: string): boolean {
  return kindOf(name) === 'PDF'
}

/** isMarkdown reports whether the text of a file is Markdown. */
export function isMarkdown(name: string): boolean {
  return ['Word', 'PowerPoint', 'Markdown', 'HTML'].includes(kindOf(name))
}

/**
 * formatSize formats a size: 512 B, 24 KB, 1.5 MB. It rounds up, so that no size above a limit looks like the limit.
 */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes <= 1023 * 1024) return `${Math.ceil(bytes / 1024)} KB`
  if (bytes <= 1023 * MEGABYTE) return `${shortly(bytes / MEGABYTE)} MB`
  return `${shortly(bytes / (1024 * MEGABYTE))} GB`
}

/** shortly rounds a number up, with one decimal below 10. */
function shortly(size: number): number {
  const tenths = Math.ceil(size * 10)
  return tenths < 100 ? tenths / 10 : Math.ceil(tenths / 10)
}

/** isReadable reports whether a chosen file can still be read. */
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
