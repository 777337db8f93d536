/** truncate returns the first `max` characters of a text. It counts code points, so it never splits one. */
export function truncate(text: string, max: number): string {
  return [...text].slice(0, max).join('')
}

/** shorten returns a text of at most `max` characters. A text that was longer ends with an ellipsis. */
export function shorten(text: string, max: number): string {
  return [...text].length > max ? `${truncate(text, max - 1)}…` : text
}
