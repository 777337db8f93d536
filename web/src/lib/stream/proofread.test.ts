import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Answer, emptyAnswer, receive } from './answer'
import { decodePart } from './events'

/** The events of a stream as the server writes them. */
const golden = readFileSync(join(import.meta.dirname, '../../../../stream/testdata/proofread.sse'), 'utf8')
  .trim()
  .split('\n\n')
  .map((block) => {
    const lines = block.split('\n')
    const field = (name: string) => lines.find((line) => line.startsWith(name))?.slice(name.length) ?? ''
    return { id: field('id: '), data: field('data: ') }
  })

const part = (type: string, data: unknown, id = '') => ({
  id: '',
  data: JSON.stringify({ type, id, data, transient: true }),
})

const block = (index: number, text: string) => part('data-proofread-text', { index, offset: 0, text })
const change = (id: number, after: string) =>
  part('data-change', { id, start: 0, end: 1, before: '絹', after, kind: 'typo', reason: '' })

const feed = (frames: readonly { id: string; data: string }[], from: Answer = emptyAnswer) =>
  frames.reduce((answer, frame) => receive(answer, frame).answer, from)

const start = (run: number) => ({
  id: '',
  data: JSON.stringify({ type: 'start', messageId: 'm', messageMetadata: { run } }),
})

describe('a proofreading', () => {
  it('is parsed as the server writes it', () => {
    const { proofread, outcome, done } = feed(golden)
    expect(proofread).toMatchObject({
      text: '明日の会議に行ます。\n🧵を持参下さい。',
      changes: [
        { id: 1, start: 6, end: 7, before: '行', after: '行き', kind: 'typo', reason: '送り仮名の抜け' },
        { id: 2, start: 16, end: 19, before: '下さい', after: 'ください', kind: 'variation', question: true },
      ],
      dropped: 1,
      unchecked: [],
    })
    for (const { start, end, before } of proofread?.changes ?? [])
      expect(proofread?.text.slice(start, end)).toBe(before)
    expect([outcome?.kind, done]).toEqual(['finished', true])
  })

  it('is the same if every connection breaks after an event', () => {
    for (let cut = 1; cut < golden.length - 1; cut++) {
      const before = feed(golden.slice(0, cut))
      const text = before.bytes > 0
      // The server repeats the parts other than the text. The text continues at the cursor.
      const rest = golden.filter(({ data }) => !text || !data.includes('text-delta'))
      expect(feed(rest, before).proofread).toEqual(feed(golden).proofread)
    }
  })

  it('has each block and each change once', () => {
    const once = [start(1), block(0, '絹'), block(1, '糸'), change(1, '衣'), change(2, '木')]
    const { proofread } = feed([...once, ...once.slice(1), change(1, '編')])
    expect(proofread?.text).toBe('絹糸')
    expect(proofread?.changes.map(({ after }) => after)).toEqual(['編', '木'])
  })

  it('starts over with another run', () => {
    const delta = { id: '1-3', data: JSON.stringify({ type: 'text-delta', id: '0', delta: '絹' }) }
    const reset = part('data-reset', { run: 2 })
    const before = feed([start(1), block(0, '絹'), change(1, '衣'), delta])
    expect(feed([reset], before).proofread).toBeNull()
    expect(feed([reset, block(0, '絹'), change(1, '木')], before).proofread?.changes).toMatchObject([
      { id: 1, after: '木' },
    ])
    // Before the first character, no cursor exists and no reset is sent.
    const early = feed([start(1), block(0, '絹'), change(1, '衣'), change(2, '木')])
    expect(feed([start(2), block(0, '絹'), change(1, '編')], early).proofread?.changes).toMatchObject([
      { id: 1, after: '編' },
    ])
  })

  it('reports rejected proposals and unchecked ranges', () => {
    const end = part('data-proofread', {
      changes: 0,
      dropped: 3,
      unchecked: [{ start: 1, end: 9 }, { start: 4 }],
    })
    const { proofread } = feed([start(1), block(0, '絹'), end])
    expect(proofread).toMatchObject({ dropped: 3, unchecked: [{ start: 1, end: 9 }] })
  })

  it.each([
    ['no id', { start: 0, end: 1, kind: 'typo' }],
    ['an unknown kind', { id: 1, start: 0, end: 1, kind: 'style' }],
    ['an end before its start', { id: 1, start: 5, end: 1, kind: 'typo' }],
    ['no range', { id: 1, kind: 'typo' }],
    ['nothing', null],
  ])('accepts no change with %s', (_, data) => {
    expect(decodePart(part('data-change', data).data)).toEqual({ type: 'ignored' })
  })

  it('is not trusted if its blocks are out of order', () => {
    expect(decodePart(part('data-proofread-text', { text: '絹' }).data)).toEqual({ type: 'broken' })
    expect(decodePart(part('data-proofread-text', { index: 0 }).data)).toEqual({ type: 'broken' })
    expect(feed([start(1), change(1, '衣')]).proofread).toBeNull()
  })
})
