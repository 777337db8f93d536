// One formatter for all: creating one costs more than formatting a page of numbers.
const numbers = new Intl.NumberFormat('ja-JP')

/** formatNumber formats a number with commas: 12,345. */
export function formatNumber(value: number): string {
  return numbers.format(value)
}

/**
 * percentOf returns a fraction in whole percent: never 100% before the whole is reached, nor 0% of a positive amount.
 */
export function percentOf(part: number, whole: number): number {
  if (whole <= 0) return part > 0 ? 100 : 0
  const percent = (part / whole) * 100
  if (percent > 0 && percent < 1) return 1
  if (percent < 100) return Math.min(99, Math.round(percent))
  return Math.floor(percent)
}

/** readCount parses a typed whole number, in full or half width, with or without commas; undefined for invalid text. */
export function readCount(text: string): number | undefined {
  const digits = text.normalize('NFKC').replace(/[,\s]/g, '')
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}
