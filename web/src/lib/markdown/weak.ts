/** The mark of an unsupported citation in a text to render: an invisible separator, which Markdown treats as text. */
const mark = '\u2063'

/** A citation, and its mark if it is unsupported. */
export const citationForm = new RegExp(`\\[(\\d{1,3})\\](${mark})?`, 'g')

/** Marks citations in a text as unsupported. Occurrences of equal citations are counted from 0 in the whole text. */
export function markWeak(text: string, isWeak: (index: number, occurrence: number) => boolean): string {
  const count = new Map<string, number>()
  return text.replace(/\[(\d{1,3})\]/g, (citation, index: string, at: number) => {
    const occurrence = count.get(citation) ?? 0
    count.set(citation, occurrence + 1)
    const isLink = text[at + citation.length] === '('
    return !isLink && isWeak(Number(index), occurrence) ? citation + mark : citation
  })
}
