/** visible replaces invisible characters, which could hide or reorder what the person decides on. */
export function visible(text: string): string {
  return text.replace(/(?![\t\n\r])[\p{Cc}\p{Cf}]/gu, '\uFFFD')
}
