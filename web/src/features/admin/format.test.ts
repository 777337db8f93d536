import { describe, expect, it } from 'vitest'
import { formatDay } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import {
  daysUntil,
  endOfDayInJapan,
  formatJapan,
  formatShort,
  formatTick,
  formatWeekday,
  fromJapan,
  inJapan,
} from './format'

describe('numbers', () => {
  it('have commas', () => {
    expect(formatNumber(10_000_000)).toBe('10,000,000')
  })

  it.each([
    [0, '0'],
    [9_800, '9,800'],
    [9_999.6, '1万'],
    [12_345, '1.2万'],
    [20_000, '2万'],
    [3_500_000, '350万'],
    [10_000_000, '1,000万'],
    [99_999_999, '1億'],
    [150_000_000, '1.5億'],
    [2_000_000_000_000, '2兆'],
  ])('are abbreviated in a chart: %d is %s', (value, words) => {
    expect(formatShort(value)).toBe(words)
  })
})

describe('dates without a time', () => {
  it('are the same in every zone', () => {
    expect(formatDay('2026-11-01')).toBe('2026年11月1日')
    expect(formatWeekday('2026-11-21')).toBe('11月21日（土）')
    expect(formatTick('2026-11-01')).toBe('11/1')
  })

  it('end at midnight in Japan', () => {
    expect(new Date(endOfDayInJapan('2026-11-21')).toISOString()).toBe('2026-11-21T15:00:00.000Z')
  })

  it('are counted in whole days', () => {
    const now = Date.parse('2026-11-21T00:00:00Z')
    expect(daysUntil(now + 29.5 * 86_400_000, now)).toBe(29)
    expect(daysUntil(now - 1, now)).toBe(-1)
  })
})

describe('times in Japan', () => {
  it.each([
    ['2026-12-01T00:05:59.123456Z', '2026-12-01T09:05', '2026年12月1日 9:05', '2026-12-01T00:05:00.000Z'],
    ['2026-12-31T15:00:00Z', '2027-01-01T00:00', '2027年1月1日 0:00', '2026-12-31T15:00:00.000Z'],
  ])('of %s in any browser time zone', (iso, local, shown, back) => {
    expect(inJapan(iso)).toBe(local)
    expect(formatJapan(iso)).toBe(shown)
    expect(fromJapan(local)).toBe(back)
  })

  it.each(['', '2026-12-01', '2026-13-01T09:00', 'x'])('are none in %j', (local) => {
    expect(fromJapan(local)).toBeUndefined()
  })
})
