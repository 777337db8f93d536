import { describe, expect, it } from 'vitest'
import { ACCEPTED, formatSize, isReadable, kindOf, MAX_BYTES, refusalReason } from './files'
import { texts } from './texts'

describe('a file', () => {
  it.each([
    'a.txt',
    'a.TEXT',
    '議事録.md',
    'a.b.markdown',
    'a.csv',
    'a.tsv',
    'a.html',
    'A.HTM',
    '規程.docx',
    'A.XLSX',
    'a.pptm',
  ])('that is supported is sent: %s', (name) => {
    expect(refusalReason({ name, size: 1 })).toBeUndefined()
    expect(refusalReason({ name, size: MAX_BYTES })).toBeUndefined()
  })

  it.each([
    ['図面.dwg', 1, texts.refused.kind],
    ['規程.doc', 1, texts.refused.old('Word', '.docx')],
    ['A.XLS', 1, texts.refused.old('Excel', '.xlsx')],
    ['a.txt.exe', 1, texts.refused.kind],
    ['a.constructor', 1, texts.refused.kind],
    ['資料', 4096, texts.refused.none],
    ['a.', 1, texts.refused.none],
    ['a.md', 0, texts.refused.empty],
    ['a.md', MAX_BYTES + 1, texts.refused.size(50)],
  ])('that the server would refuse is not sent: %s, %i bytes', (name, size, reason) => {
    expect(refusalReason({ name, size })).toBe(reason)
  })

  it('has a kind and a size in words', () => {
    expect(['a.htm', 'a.TXT', 'a.docx', 'a.exe', 'a'].map(kindOf)).toEqual([
      'HTML',
      'テキスト',
      'Word',
      'EXE',
      '',
    ])
    expect(
      [1, 1023, 1024, 1025, 1023 * 1024, 1024 * 1024, 1_500_000, MAX_BYTES, MAX_BYTES + 1].map(formatSize),
    ).toEqual(['1 B', '1023 B', '1 KB', '2 KB', '1023 KB', '1 MB', '1.5 MB', '50 MB', '51 MB'])
    expect([1024 ** 3, 1.2 * 1024 ** 3, 5 * 1024 ** 3].map(formatSize)).toEqual(['1 GB', '1.2 GB', '5 GB'])
  })

  it('that was deleted is not readable', async () => {
    expect(await isReadable(new File(['a'], 'a.md'))).toBe(true)
    const moved = {
      slice: () => ({ arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')) }),
    }
    expect(await isReadable(moved as unknown as Blob)).toBe(false)
  })

  it('is offered by the file picker if it is supported', () => {
    expect(ACCEPTED.split(',')).toEqual([
      '.pdf',
      '.docx',
      '.docm',
      '.xlsx',
      '.xlsm',
      '.pptx',
      '.pptm',
      '.txt',
      '.text',
      '.md',
      '.markdown',
      '.csv',
      '.tsv',
      '.html',
      '.htm',
    ])
  })
})
