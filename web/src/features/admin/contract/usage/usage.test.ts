import { describe, expect, it } from 'vitest'
import { lastMonths, ticksFor } from './usage'

describe('the grid lines of a chart', () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [3, [0, 1, 2, 3]],
    [7, [0, 2, 4, 6, 8]],
    [10, [0, 3, 6, 9, 12]],
    [4_000, [0, 1_000, 2_000, 3_000, 4_000]],
    [4_001, [0, 2_000, 4_000, 6_000]],
    [9_500_000, [0, 2_500_000, 5_000_000, 7_500_000, 10_000_000]],
  ])('have round values up to at least %d', (highest, ticks) => {
    expect(ticksFor(highest)).toEqual(ticks)
  })
})

it('lists the months of a year, newest first', () => {
  const months = lastMonths('2026-02-28')
  expect(months).toHaveLength(12)
  expect(months.slice(0, 3)).toEqual(['2026-02', '2026-01', '2025-12'])
  expect(months.at(-1)).toBe('2025-03')
})
