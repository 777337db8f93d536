/** fold normalizes a text for searching: it unifies width, kana and case. */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\u30a1-\u30f6]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0x60))
}

/** matches reports whether every word of the query occurs in one of the texts. */
export function matches(query: string, ...texts: readonly string[]): boolean {
  const words = fold(query).split(/\s+/).filter(Boolean)
  const text = fold(texts.join('\n'))
  return words.every((word) => text.includes(word))
}
