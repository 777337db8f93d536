import { describe, expect, it } from 'vitest'
import type { Change } from '@/lib/stream'
import {
  acceptAll,
  contextOf,
  countKinds,
  type Decisions,
  decide,
  decisionsOf,
  listsOf,
  paragraphsOf,
  refuseAll,
  resultOf,
  segmentsOf,
  sortChanges,
} from './review'

const text = '会議に行ます。\n\n🧵を持参下さい。売上は120億円です。'

const change = (id: number, before: string, after: string, more: Partial<Change> = {}): Change => {
  const start = text.indexOf(before)
  return { id, start, end: start + before.length, before, after, kind: 'typo', reason: '', ...more }
}

const typo = change(1, '行ま', '行きま')
const variation = change(2, '下さい', 'ください', { kind: 'variation' })
const fact = change(3, '120億円', '120億円', { kind: 'fact', question: true })
const unit = change(4, '持参', 'ご持参', { question: true })
const all = [typo, unit, variation, fact]
const none: Decisions = new Map()

describe('the changes of a text', () => {
  it('are sorted by their position in the text', () => {
    expect(sortChanges({ text, changes: [fact, variation, unit, typo] })).toEqual(all)
  })

  it('are left out if they do not match the text or overlap another change', () => {
    const wrong = { ...typo, id: 9, start: 1, end: 3 }
    const over = { ...variation, id: 8, start: variation.start + 1, end: variation.end, before: 'さい' }
    expect(sortChanges({ text, changes: [wrong, typo, variation, over] })).toEqual([typo, variation])
  })

  it('split the text into unchanged and changed segments', () => {
    expect(segmentsOf(text, 0, [typo, variation])).toEqual([
      '会議に',
      typo,
      'す。\n\n🧵を持参',
      variation,
      '。売上は120億円です。',
    ])
    expect(segmentsOf('', 0, [])).toEqual([])
    expect(segmentsOf('下さい', variation.start, [variation])).toEqual([variation])
  })

  it('are counted by kind, in a fixed order', () => {
    expect([...countKinds(all)]).toEqual([
      ['typo', 2],
      ['variation', 1],
      ['fact', 1],
    ])
  })

  it('have context from their own line, cut at whole characters', () => {
    expect(contextOf(text, typo)).toEqual({ before: '会議に', after: 'す。' })
    expect(contextOf(text, variation)).toEqual({ before: '🧵を持参', after: '。売上は120億円です。' })
    expect(contextOf('絹'.repeat(30), { start: 20, end: 21 })).toEqual({
      before: `…${'絹'.repeat(12)}`,
      after: '絹'.repeat(9),
    })
    expect(contextOf('𠮷'.repeat(20), { start: 40, end: 40 }).before).toBe(`…${'𠮷'.repeat(12)}`)
  })
})

describe('the corrected text', () => {
  it('contains open changes, but no open questions', () => {
    expect(resultOf(text, all, none)).toBe('会議に行きます。\n\n🧵を持参ください。売上は120億円です。')
  })

  it('contains accepted questions and no refused changes', () => {
    const decisions = decisionsOf({ accepted: [4], refused: [1] })
    expect(resultOf(text, all, decisions)).toBe('会議に行ます。\n\n🧵をご持参ください。売上は120億円です。')
  })

  it('equals the original after all changes are refused, and open questions stay open', () => {
    const refused = refuseAll(decisionsOf({ accepted: [4], refused: [] }), all)
    expect(resultOf(text, all, refused)).toBe(text)
    expect(listsOf(refused)).toEqual({ accepted: [], refused: [1, 2, 4] })
  })

  it('contains a question after accepting all only if it was accepted individually', () => {
    expect(listsOf(acceptAll(none, all))).toEqual({ accepted: [1, 2], refused: [] })
    expect(listsOf(acceptAll(decisionsOf({ accepted: [4], refused: [1] }), all))).toEqual({
      accepted: [1, 2, 4],
      refused: [],
    })
  })

  it('treats a change as open again after its decision is withdrawn', () => {
    const refused = decide(none, 1, 'refused')
    expect(listsOf(refused)).toEqual({ accepted: [], refused: [1] })
    expect(decide(refused, 1, null).size).toBe(0)
  })
})

describe('paragraphs', () => {
  it('are lines with their changes, and joined they are the text', () => {
    const paragraphs = paragraphsOf(text, all)
    expect(paragraphs.map(({ text }) => text).join('\n')).toBe(text)
    expect(paragraphs.map(({ changes }) => changes.map(({ id }) => id))).toEqual([[1], [], [4, 2, 3]])
    expect(paragraphs.map(({ start }) => start)).toEqual([0, 8, 9])
  })

  it('span several lines if a change contains a line break', () => {
    const join: Change = { ...typo, id: 7, start: 7, end: 9, before: '\n\n', after: '' }
    expect(paragraphsOf(text, [join])).toEqual([{ start: 0, text, changes: [join] }])
    expect(paragraphsOf('', [])).toEqual([{ start: 0, text: '', changes: [] }])
    expect(paragraphsOf('絹\n', []).map((paragraph) => paragraph.text)).toEqual(['絹', ''])
  })
})
