import { describe, expect, it } from 'vitest'
import type { Passage } from '@/lib/api'
import { type Block, blocksOf } from './structure'

/** passages returns adjacent passages of one page, separated by `gap` bytes of white space. */
function passages(...parts: readonly (readonly [gap: number, text: string])[]): Passage[] {
  let at = 0
  return parts.map(([gap, text], ordinal) => {
    const start = at + gap
    at = start + new TextEncoder().encode(text).length
    return { id: `p${ordinal}`, page: 1, ordinal, start, end: at, locator: '', text }
  })
}

const said = (blocks: readonly Block[]) =>
  blocks.map((block) => {
    if (block.kind === 'table')
      return [block.head?.cells.join('|') ?? '', ...block.rows.map(({ cells }) => cells.join('|'))].join('/')
    if (block.kind === 'sheet') return block.columns.map(({ name }) => name).join('|')
    return `${block.kind}: ${block.pieces.map(({ text, marked }) => (marked ? `[${text}]` : text)).join('')}`
  })

describe('the text of passages', () => {
  it('is joined with the original sentences, lines and paragraphs', () => {
    const list = passages([0, '有給休暇は'], [0, '年20日です。'], [1, '次の行'], [2, '次の段落'])
    expect(said(blocksOf(list, undefined, false))).toEqual([
      'paragraph: 有給休暇は年20日です。\n次の行',
      'paragraph: 次の段落',
    ])
  })

  it('keeps a space between words if a long sentence is split', () => {
    expect(said(blocksOf(passages([0, 'a long'], [1, 'sentence']), undefined, false))).toEqual([
      'paragraph: a long sentence',
    ])
  })

  it('keeps lines apart that consist of words, and sentences of a paragraph together', () => {
    const log = passages([0, '10:00 start\n10:01 read'], [1, '10:02 stop'])
    expect(said(blocksOf(log, undefined, false))).toEqual(['paragraph: 10:00 start\n10:01 read\n10:02 stop'])
    const prose = passages([0, 'One sentence.'], [1, 'Another one.'])
    expect(said(blocksOf(prose, undefined, false))).toEqual(['paragraph: One sentence. Another one.'])
  })

  it('marks the selected passage, wherever it begins and ends', () => {
    const list = passages([0, '# 休暇\n\n前の文。'], [0, '後の文。\n\n- 一\n- 二'], [1, '- 三'])
    expect(said(blocksOf(list, 'p1', true))).toEqual([
      'heading: 休暇',
      'paragraph: 前の文。[後の文。]',
      'item: [一]',
      'item: [二]',
      'item: 三',
    ])
  })

  it('is plain text unless it is Markdown', () => {
    expect(said(blocksOf(passages([0, '# 番号\n| 記号 |']), undefined, false))).toEqual([
      'paragraph: # 番号\n| 記号 |',
    ])
  })

  it('joins a table that is split over passages and drops repeated headings', () => {
    const list = passages(
      [0, '| 氏名 | 部署 |\n|---|---|\n| 山田 | 総務 |'],
      [1, '| 佐藤 | 営業 |'],
      [2, '| 氏名 | 部署 |\n|---|---|\n| 鈴木 | a\\|b |'],
    )
    const blocks = blocksOf(list, 'p1', true)
    expect(said(blocks)).toEqual(['氏名|部署/山田|総務/佐藤|営業/鈴木|a|b'])
    expect(blocks[0]?.kind === 'table' && blocks[0].rows.map(({ marked }) => marked)).toEqual([
      false,
      true,
      false,
    ])
  })

  it('has the tables of a PDF file although its text is not Markdown', () => {
    const list = passages([0, '# 番号\n| a | b |\n|---|---|\n| 1 | ○ |'])
    expect(said(blocksOf(list, undefined, false, true))).toEqual(['paragraph: # 番号', 'a|b/1|○'])
  })

  it('does not join separate tables', () => {
    const list = passages([0, '| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |'])
    expect(said(blocksOf(list, undefined, true))).toEqual(['a|b/1|2', 'c|d/3|4'])
  })
})
