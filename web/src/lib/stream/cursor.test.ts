import { expect, it } from 'vitest'
import { formatCursor, parseCursor, utf8Length } from './cursor'
import { randomText, seeded } from './testing'

it('counts bytes as the encoder writes them', () => {
  const encoder = new TextEncoder()
  for (let seed = 1; seed <= 200; seed++) {
    const text = randomText(seeded(seed), 40)
    // Cut anywhere, also inside a surrogate pair.
    for (const part of [text, text.slice(3), text.slice(0, -1), '\uD83E', '\uDDF5x', '\uD83E\uD83E\uDDF5']) {
      expect(utf8Length(part)).toBe(encoder.encode(part).length)
    }
  }
})

it('accepts only cursors', () => {
  expect(parseCursor('1-0')).toEqual({ run: 1, offset: 0 })
  expect(parseCursor('12-3456')).toEqual({ run: 12, offset: 3456 })
  for (const id of [
    '',
    '1',
    '1-',
    '-1',
    '0-5',
    '1--5',
    '01-5',
    '1-05',
    '1-5 ',
    '1.5-2',
    'a-b',
    '1-99999999999999999',
  ]) {
    expect(parseCursor(id)).toBeNull()
  }
  expect(formatCursor({ run: 2, offset: 15 })).toBe('2-15')
})
