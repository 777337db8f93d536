import { formatDay } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'

/** formatShort abbreviates a number for a chart: 9,800, 1.2万, 350万, 1.5億. It has at most three digits. */
export function formatShort(value: number): string {
  // Rounding can reach the next unit, and the result must never be 10,000万.
  for (const [size, unit] of [
    [1e12, '兆'],
    [1e8, '億'],
    [1e4, '万'],
  ] as const) {
    if (value < size * 0.99995) continue
    const count = value / size
    return formatNumber(Number(count.toFixed(count < 10 ? 1 : 0))) + unit
  }
  return formatNumber(Math.round(value))
}

interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** parts splits a date without a time (2026-11-21). It is independent of time zones. */
function parts(date: string): Day {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  return { year, month, day }
}

/** A date within a few weeks: 11月21日（土）. */
export function formatWeekday(date: string): string {
  const { year, month, day } = parts(date)
  const weekday = '日月火水木金土'[new Date(Date.UTC(year, month - 1, day)).getUTCDay()]
  return `${month}月${day}日（${weekday}）`
}

/** A date under a chart: 11/21. */
export function formatTick(date: string): string {
  const { month, day } = parts(date)
  return `${month}/${day}`
}

/** daysUntil returns the number of days from now until a moment; negative for a past moment. */
export function daysUntil(moment: number, now = Date.now()): number {
  return Math.floor((moment - now) / 86_400_000)
}

/** endOfDayInJapan returns the last moment of a day in Japan, the time zone of contracts. */
export function endOfDayInJapan(date: string): number {
  const { year, month, day } = parts(date)
  return Date.UTC(year, month - 1, day, 15)
}

const JAPAN = 9 * 3_600_000

/** inJapan formats a moment in Japan's time zone for a date and time field: 2026-12-01T09:00. */
export function inJapan(iso: string): string {
  return new Date(Date.parse(iso) + JAPAN).toISOString().slice(0, 16)
}

/** The moment of a date and time in Japan, in the API's format; undefined for none. */
export function fromJapan(local: string): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(local)
    ? Date.parse(`${local.slice(0, 16)}:00Z`)
    : Number.NaN
  return Number.isNaN(at) ? undefined : new Date(at - JAPAN).toISOString()
}

/** formatJapan formats a moment in Japan's time zone: 2026年12月1日 9:00. */
export function formatJapan(iso: string): string {
  const [date = '', time = ''] = inJapan(iso).split('T')
  return `${formatDay(date)} ${time.replace(/^0/, '')}`
}

/** The beginning of a day in the reader's time zone, in the API's format; undefined for an invalid day. */
export function startOfDay(day: string, plus = 0): string | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day)
  if (match === null) return undefined
  const [, year, month, date] = match.map(Number)
  const at = new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + plus)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
