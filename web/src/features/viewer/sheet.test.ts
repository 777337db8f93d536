import { describe, expect, it } from 'vitest'
import type { Passage } from '@/lib/api'
import { sheetBlocks } from './sheet'

/** passages returns adjacent passages, separated by an empty line. */
function passages(...parts: readonly (readonly [locator: string, text: string])[]): Passage[] {
  let at = 0
  return parts.map(([locator, text], ordinal) => {
    const start = at + 2
    at = start + new TextEncoder().encode(text).length
    return { id: `p${ordinal}`, page: 1, ordinal, start, end: at, locator, text }
  })
}

describe('the text of a sheet', () => {
  const list = passages(
    ['売上!B2:D4', '# 売上\n\n品名 / 数 / 備考\n\n品名: 板 / 数: 5\n\n品名: 釘 / 数: 6 / 備考: 白 / 黒'],
    ['売上!B5:D7', '品名: 瓦 / 数: 7\n\n品名: 縄 / 備考: 赤: 濃い'],
    ['売上!B9:C9', '単位：円'],
  )

  it('is a table with letters, numbers and headings, and marks the rows of a passage', () => {
    expect(sheetBlocks(list, 'p1')).toEqual([
      { kind: 'heading', level: 1, pieces: [{ text: '売上', marked: false }] },
      {
        kind: 'sheet',
        columns: [
          { letter: 'B', name: '品名' },
          { letter: 'C', name: '数' },
          { letter: 'D', name: '備考' },
        ],
        rows: [
          { number: 3, marked: false, cells: ['板', '5', ''] },
          { number: 4, marked: false, cells: ['釘', '6', '白 / 黒'] },
          { number: undefined, marked: true, cells: ['瓦', '7', ''] },
          { number: 7, marked: true, cells: ['縄', '', '赤: 濃い'] },
        ],
      },
      { kind: 'paragraph', rich: false, pieces: [{ text: '単位：円', marked: false }] },
    ])
  })

  it('is a table even if its headings precede the loaded passages', () => {
    const [block] = sheetBlocks(
      passages(['Sheet1!AA10:AB11', '部署: 総務 / 額: 5\n\n部署: 営業 / 額: 6']),
      undefined,
    )
    expect(block).toEqual({
      kind: 'sheet',
      columns: [
        { letter: 'AA', name: '部署' },
        { letter: 'AB', name: '額' },
      ],
      rows: [
        { number: 10, marked: false, cells: ['総務', '5'] },
        { number: 11, marked: false, cells: ['営業', '6'] },
      ],
    })
  })

  it('keeps the rows of a block apart where a passage ends', () => {
    const [first, second] = passages(
      ['表!A1:B3', '品名 / 数\n板 | 5\n釘 | 6'],
      ['表!A4:B5', '瓦 | 7\n縄 | 8'],
    )
    if (!first || !second) throw new Error('two passages')
    const next = { ...second, start: first.end + 1, end: second.end - 1 }
    expect(sheetBlocks([first, next], undefined)).toEqual([
      {
        kind: 'paragraph',
        rich: false,
        pieces: [{ text: '品名 / 数\n板 | 5\n釘 | 6\n瓦 | 7\n縄 | 8', marked: false }],
      },
    ])
  })

  it('is paragraphs if the sheet is a form', () => {
    expect(sheetBlocks(passages(['申請!A1:B2', '氏名 / 佐藤\n\n理由 / 私用']), undefined)).toHaveLength(2)
  })
})
