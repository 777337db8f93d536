import { describe, expect, it } from 'vitest'
import { percentOf, readCount } from './numbers'

describe('a typed number', () => {
  it.each([
    ['1000', 1000],
    [' 1,000 ', 1000],
    ['１，０００', 1000],
    ['0', 0],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['千', undefined],
    ['9'.repeat(16), undefined],
  ])('%s', (text, want) => {
    expect(readCount(text)).toBe(want)
  })
})

describe('percentages', () => {
  it.each([
    [0, 50, 0],
    [1, 10_000_000, 1],
    [9_999_999, 10_000_000, 99],
    [10_000_000, 10_000_000, 100],
    [12_000_000, 10_000_000, 120],
    [0, 0, 0],
    [3, 0, 100],
  ])('are fractions of a whole: %d of %d is %d%%', (part, whole, percent) => {
    expect(percentOf(part, whole)).toBe(percent)
  })
})
