import { describe, expect, it } from 'vitest'
import { mergeTexts } from './merge'

const base = '敬語で答える。\n出典を示す。\n表を使う。\n短く書く。'

describe('two changes of the instructions', () => {
  it('are merged if they are in different places', () => {
    const theirs = base.replace('出典を示す。', '出典とページを示す。')
    const mine = `${base}\n英語では答えない。`
    expect(mergeTexts(base, theirs, mine)).toEqual({
      text: '敬語で答える。\n出典とページを示す。\n表を使う。\n短く書く。\n英語では答えない。',
      conflicts: 0,
    })
  })

  it('are both in the text if they are in one place', () => {
    const theirs = base.replace('表を使う。', '表は使わない。')
    const mine = base.replace('表を使う。', '図を使う。')
    const { text, conflicts } = mergeTexts(base, theirs, mine)
    expect(text).toBe('敬語で答える。\n出典を示す。\n表は使わない。\n図を使う。\n短く書く。')
    expect(conflicts).toBe(1)
  })

  it('keep a changed line that the other one removes', () => {
    const theirs = base.replace('表を使う。\n', '')
    const mine = base.replace('表を使う。', '図を使う。')
    expect(mergeTexts(base, theirs, mine)).toEqual({
      text: '敬語で答える。\n出典を示す。\n図を使う。\n短く書く。',
      conflicts: 1,
    })
  })

  it('are one if they are equal', () => {
    const both = base.replace('短く書く。', '3行以内で書く。')
    expect(mergeTexts(base, both, both)).toEqual({ text: both, conflicts: 0 })
  })

  it.each([
    ['', 'あ', ''],
    ['あ', '', 'あ'],
    ['', '', ''],
  ])('take the only change: %j, %j, %j', (before, theirs, mine) => {
    expect(mergeTexts(before, theirs, mine)).toEqual({ text: theirs, conflicts: 0 })
  })

  it('lose no line of either text, whatever the changes', () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    const change = (lines: readonly string[], name: string) =>
      lines.flatMap((line) => {
        const what = random(6)
        if (what === 0) return []
        if (what === 1) return [`${line}${name}`]
        return what === 2 ? [line, `${name}${random(100)}`] : [line]
      })
    for (let round = 0; round < 200; round++) {
      const before = Array.from({ length: random(9) }, () => `${random(5)}`)
      const [theirs, mine] = [change(before, '他'), change(before, '自')]
      const merged = new Set(
        mergeTexts(before.join('\n'), theirs.join('\n'), mine.join('\n')).text.split('\n'),
      )
      for (const line of [...theirs, ...mine]) {
        if (!before.includes(line)) expect(merged).toContain(line)
      }
    }
  })

  it('of long texts end at once', () => {
    const long = (name: string) => Array.from({ length: 8000 }, (_, at) => `${name}${at}`).join('\n')
    const { text, conflicts } = mergeTexts(long('元'), long('他'), long('自'))
    expect(text).toBe(`${long('他')}\n${long('自')}`)
    expect(conflicts).toBe(1)
  })
})
