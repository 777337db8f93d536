import { describe, expect, it } from 'vitest'
import { dateGroup, formatDate, formatFull, formatTime, greeting } from './dates'

// In the local time zone of the test: dates are built from local parts.
const at = (...parts: [number, number, number, number?, number?]) => {
  const [year, month, day, hour = 0, minute = 0] = parts
  return new Date(year, month - 1, day, hour, minute)
}
const now = at(2026, 3, 5, 0, 30)

describe('dates', () => {
  it.each([
    [at(2026, 3, 5, 0, 5), '今日 0:05'],
    [at(2026, 3, 5, 14, 5), '今日 14:05'],
    [at(2026, 3, 4, 23, 59), '昨日'],
    [at(2026, 3, 3, 12), '3月3日'],
    [at(2026, 1, 1), '1月1日'],
    [at(2025, 3, 4), '2025年3月4日'],
    [at(2025, 12, 31, 23), '2025年12月31日'],
  ])('format %s as %s', (date, text) => {
    expect(formatDate(date.toISOString(), now)).toBe(text)
  })

  it('format an invalid date as an empty text', () => {
    expect(formatDate('', now)).toBe('')
  })

  it('have a complete form for a tooltip', () => {
    expect(formatFull(at(2025, 3, 4, 14, 5).toISOString())).toBe('2025年3月4日 14:05')
    expect(formatFull('no date')).toBe('')
  })

  it('format the time without a leading zero', () => {
    expect(formatTime(at(2026, 3, 5, 9, 5).toISOString())).toBe('9:05')
    expect(formatTime(at(2026, 3, 5, 0, 0).toISOString())).toBe('0:00')
  })

  it.each([
    [at(2026, 3, 6), '今日'],
    [at(2026, 3, 5), '今日'],
    [at(2026, 3, 4, 1), '昨日'],
    [at(2026, 3, 3), '過去7日間'],
    [at(2026, 2, 26, 23), '過去7日間'],
    [at(2026, 2, 25), 'それ以前'],
  ])('belong to groups: %s to %s', (date, group) => {
    expect(dateGroup(date.toISOString(), now)).toBe(group)
  })

  it.each([
    [4, 'おはようございます'],
    [10, 'おはようございます'],
    [11, 'こんにちは'],
    [17, 'こんにちは'],
    [18, 'こんばんは'],
    [3, 'こんばんは'],
  ])('greet at %i with %s', (hour, text) => {
    expect(greeting(at(2026, 3, 5, hour))).toBe(text)
  })
})
