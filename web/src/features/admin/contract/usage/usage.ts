import type { DayUsage } from '@/lib/api'

/** The quantity that a chart of the usage shows. */
export type Measure = 'tokens' | 'messages'

/** Input and output tokens together. */
export function tokensOf(usage: { input_tokens: number; output_tokens: number }): number {
  return usage.input_tokens + usage.output_tokens
}

/** The height of a day's bar in a chart. */
export function heightOf(day: DayUsage, measure: Measure): number {
  return measure === 'tokens' ? tokensOf(day) : day.messages
}

/**
 * ticksFor returns the grid lines of a chart: integers from 0 to the first round number that is not below the highest
 * bar, at most five.
 */
export function ticksFor(highest: number): number[] {
  if (highest <= 0) return [0, 1]
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power)
  const whole = Number.isInteger(step) ? step : Math.ceil(step)
  const count = Math.ceil(highest / whole)
  return Array.from({ length: count + 1 }, (_, index) => index * whole)
}

/** lastMonths returns the last twelve months up to the month of `today`, newest first, in the form 2026-04. */
export function lastMonths(today: string): string[] {
  const months = Number(today.slice(0, 4)) * 12 + Number(today.slice(5, 7)) - 1
  return Array.from({ length: 12 }, (_, back) => {
    const at = months - back
    return `${Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`
  })
}
