import { expect, it } from 'vitest'
import { shorten, truncate } from './shorten'

it.each([
  ['紡', 2, '紡', '紡'],
  ['紡ぐ', 2, '紡ぐ', '紡ぐ'],
  ['紡ぐ糸', 2, '紡ぐ', '紡…'],
  ['👍👍👍', 2, '👍👍', '👍…'],
  ['', 2, '', ''],
])('%s has at most %i characters', (text, max, truncated, shortened) => {
  expect(truncate(text, max)).toBe(truncated)
  expect(shorten(text, max)).toBe(shortened)
})
