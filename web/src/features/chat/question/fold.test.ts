import { expect, it } from 'vitest'
import { isLong } from './fold'

it.each([
  ['nothing', '', false],
  ['a sentence', '来月の予定を教えてください。', false],
  ['thirteen lines', '一\n'.repeat(12), false],
  ['fourteen lines', '一\n'.repeat(13), true],
  ['thirteen lines in one paragraph', 'あ'.repeat(33 * 13), false],
  ['one character more', 'あ'.repeat(33 * 13 + 1), true],
  ['half-width characters, of which two make one', 'a'.repeat(33 * 13), false],
  ['very many of them', 'a'.repeat(32_000), true],
  ['characters outside the first plane, each one wide', '𠮷'.repeat(33 * 13), false],
])('folds only long questions: %s', (_, content, long) => {
  expect(isLong(content)).toBe(long)
})
