import type { FileEntry } from '@zip.js/zip.js/lib/zip-core-custom.js'
import { MAX_BYTES } from '@/entities/source/files'
import { UploadRefused } from '@/entities/source/uploads'
import { texts } from '../texts'
import { isHidden } from './folders'

const words = texts.archives

/** The maximum number of files in an archive: that of a project. */
const MAX_FILES = 10_000

/** isArchive reports whether a file is a ZIP file, whose files are uploaded in its place. */
export function isArchive({ name }: Pick<File, 'name'>): boolean {
  return /\.zip$/i.test(name)
}

interface UnpackOptions {
  readonly signal: AbortSignal
  readonly onFile: (file: File) => void
  /** Called with the unpacked part, from 0 to 1. */
  readonly onProgress: (part: number) => void
}

/**
 * unpack reads the files of an archive one after another, without hidden ones. It throws `UploadRefused` if the archive
 * cannot be read, or after the other files if some are archives or too large.
 */
export async function unpack(archive: File, { signal, onFile, onProgress }: UnpackOptions): Promise<void> {
  const { BlobReader, ZipReader } = await import('@zip.js/zip.js/lib/zip-core-custom.js')
  const reader = new ZipReader(new BlobReader(archive), { useWebWorkers: false, decodeText: nameOf })
  const skipped: string[] = []
  try {
    const entries = (await reader.getEntries()).filter(
      (entry) => !entry.directory && !isHidden(entry.filename),
    )
    if (entries.length === 0) throw new UploadRefused(words.empty)
    if (entries.length > MAX_FILES) throw new UploadRefused(words.many(MAX_FILES))
    if (entries.some(({ encrypted }) => encrypted)) throw new UploadRefused(words.encrypted)
    for (const [i, entry] of (entries as FileEntry[]).entries()) {
      signal.throwIfAborted()
      const name = entry.filename.split(/[\\/]/).at(-1) ?? ''
      if (isArchive({ name }) || entry.uncompressedSize > MAX_BYTES) skipped.push(name)
      else onFile(await read(entry, name, signal))
      onProgress((i + 1) / entries.length)
    }
  } catch (cause) {
    if (cause instanceof UploadRefused || signal.aborted) throw cause
    throw new UploadRefused(words.damaged)
  } finally {
    await reader.close()
  }
  if (skipped.length > 0) throw new UploadRefused(words.skipped(skipped))
}

/** read unpacks a file. The library refuses more bytes than the archive states. */
async function read(entry: FileEntry, name: string, signal: AbortSignal): Promise<File> {
  const content = await entry.arrayBuffer({ signal, checkSignature: true })
  return new File([content], name, { lastModified: entry.lastModDate.getTime() })
}

/** nameOf decodes a name of an archive: UTF-8 with or without the flag for it, as on macOS, or Shift_JIS of Windows. */
function nameOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('shift_jis').decode(bytes)
  }
}
