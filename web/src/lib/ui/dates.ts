// By hand instead of Intl, because there is one language, and creating a formatter costs more than formatting the first
// page of threads.

/** A relative date in the local time zone: 今日 14:05, 昨日, 3月4日, 2025年3月4日. */
export function formatDate(iso: string, now = new Date()): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ''
  const days = daysBetween(date, now)
  if (days === 0) return `今日 ${formatTime(iso)}`
  if (days === 1) return '昨日'
  const day = `${date.getMonth() + 1}月${date.getDate()}日`
  return date.getFullYear() === now.getFullYear() ? day : `${date.getFullYear()}年${day}`
}

/** The time of day: 9:05, 14:05. */
export function formatTime(iso: string): string {
  const date = new Date(iso)
  return `${date.getHours()}:${String(date.getMinutes()).padStart(2, '0')}`
}

/** The whole date with its time, for a tooltip: 2025年3月4日 14:05. */
export function formatFull(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ''
  return `${date.getFullYear()}年${date.getMonth() + 1}月${date.getDate()}日 ${formatTime(iso)}`
}

/** formatDay formats a date without a time from the API: 2026年9月1日 for 2026-09-01. */
export function formatDay(day: string): string {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? []
  return year === undefined ? '' : `${year}年${Number(month)}月${Number(date)}日`
}

/** The groups of a list by date, newest first. */
type DateGroup = '今日' | '昨日' | '過去7日間' | 'それ以前'

/** The group of a date, in the local time zone. */
export function dateGroup(iso: string, now = new Date()): DateGroup {
  const days = daysBetween(new Date(iso), now)
  if (days <= 0) return '今日'
  if (days === 1) return '昨日'
  return days <= 7 ? '過去7日間' : 'それ以前'
}

/** greeting returns a greeting for the time of day. */
export function greeting(now = new Date()): string {
  const hour = now.getHours()
  if (hour >= 4 && hour < 11) return 'おはようございます'
  return hour >= 11 && hour < 18 ? 'こんにちは' : 'こんばんは'
}

// Calendar days from `date` to `now`. Counted in UTC from local midnights, so that days of 23 or 25 hours count as one.
function daysBetween(date: Date, now: Date): number {
  const day = (at: Date) => Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / 86_400_000
  return day(now) - day(date)
}
