/** The server's limits, in characters. */
export const maxText = 300_000
export const maxSelection = 20_000
export const maxTitle = 500
export const maxQuestion = 32_000

/** cut returns the beginning of a text up to the limit, and the number of omitted Unicode characters. */
export function cut(text: string, limit = maxText): { text: string; characters: number; left: number } {
  if (text.length <= limit) return { text, characters: lengthOf(text), left: 0 }
  const characters = [...text]
  const kept = characters.slice(0, limit)
  return { text: kept.join(''), characters: kept.length, left: characters.length - kept.length }
}

export function lengthOf(text: string): number {
  return [...text].length
}
