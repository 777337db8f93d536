import { strToU8, type Zippable, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { MAX_BYTES } from '@/entities/source/files'
import { isArchive, unpack } from './archives'

async function unpacked(content: Uint8Array<ArrayBuffer>) {
  const files: File[] = []
  const parts: number[] = []
  const options = {
    signal: new AbortController().signal,
    onFile: (file: File) => files.push(file),
    onProgress: (part: number) => parts.push(part),
  }
  const error = await unpack(new File([content], '資料.zip'), options).then(
    () => '',
    (cause: Error) => cause.message,
  )
  const read = await Promise.all(files.map(async (file) => [file.name, await file.text()]))
  return { files: read, error, parts }
}

const zip = (contents: Zippable) => zipSync(contents) as Uint8Array<ArrayBuffer>

/** replaced replaces each occurrence of some bytes. */
function replaced(content: Uint8Array<ArrayBuffer>, from: readonly number[], to: readonly number[]) {
  const changed = content.slice()
  for (let at = 0; at < content.length; at++) {
    if (from.every((byte, i) => content[at + i] === byte)) changed.set(to, at)
  }
  return changed
}

describe('unpack', () => {
  it('returns the files of all folders, without hidden ones', async () => {
    const content = zip({
      規程: { '就業規則.txt': strToU8('休暇'), '.DS_Store': strToU8('x'), 空: {} },
      '__MACOSX/規程/._就業規則.txt': strToU8('x'),
      'メモ.md': strToU8('議事'),
    })
    expect(await unpacked(content)).toEqual({
      files: [
        ['就業規則.txt', '休暇'],
        ['メモ.md', '議事'],
      ],
      error: '',
      parts: [0.5, 1],
    })
  })

  it('decodes names of Windows and of macOS', async () => {
    const shiftJIS = replaced(
      zip({ 'abcd.txt': strToU8('1') }),
      [...strToU8('abcd')],
      [0x8b, 0x4b, 0x92, 0xf6],
    )
    expect((await unpacked(shiftJIS)).files).toEqual([['規程.txt', '1']])
    const utf8 = replaced(zip({ 'abcdef.txt': strToU8('1') }), [...strToU8('abcdef')], [...strToU8('規程')])
    expect((await unpacked(utf8)).files).toEqual([['規程.txt', '1']])
  })

  it('refuses archives that cannot be read', async () => {
    const whole = zip({ 'a.txt': [strToU8('本文'.repeat(100)), { level: 0 }] })
    expect((await unpacked(whole.slice(0, 200))).error).toContain('展開できませんでした')
    expect((await unpacked(replaced(whole, [...strToU8('本文本')], [0x61]))).error).toContain(
      '展開できませんでした',
    )
    expect((await unpacked(zip({ フォルダー: {} }))).error).toContain('ファイルがありません')
    const flagged = replaced(
      whole,
      [0x50, 0x4b, 1, 2, 0x14, 0, 0x14, 0, 0, 0],
      [0x50, 0x4b, 1, 2, 0x14, 0, 0x14, 0, 1, 0],
    )
    expect((await unpacked(flagged)).error).toContain('パスワード付き')
  })

  it('skips archives and files that are too large', async () => {
    const content = zip({
      '中.zip': zip({ 'a.txt': strToU8('1') }),
      '大きい.txt': [new Uint8Array(MAX_BYTES + 1), { level: 1 }],
      'b.txt': strToU8('2'),
    })
    const { files, error } = await unpacked(content)
    expect(files).toEqual([['b.txt', '2']])
    expect(error).toContain('中.zip、大きい.txt')
  })

  it('refuses a file with more bytes than stated', async () => {
    const size = [0x10, 0x27, 0, 0] // 10,000 bytes.
    const content = replaced(zip({ 'a.txt': new Uint8Array(10_000) }), size, [10, 0, 0, 0])
    expect(await unpacked(content)).toMatchObject({
      files: [],
      error: expect.stringContaining('展開できませんでした'),
    })
  })
})

it('recognizes archives by their names', () => {
  expect(['a.zip', 'A.ZIP', 'a.zip.txt', 'zip'].map((name) => isArchive({ name }))).toEqual([
    true,
    true,
    false,
    false,
  ])
})
