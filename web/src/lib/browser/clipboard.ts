/** Puts a text on the clipboard. Fails, rather than throws, where the browser offers none. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
}

/**
 * Puts a text on the clipboard, and the same as HTML for programs that take headings and tables (Word, Outlook, Excel).
 * The HTML may still be loading: the item is made at once, because Safari forgets the click otherwise.
 */
export async function copyRich(text: string, html: Promise<string>): Promise<void> {
  // Whoever needs it sees its failure; nobody else must.
  html.catch(() => {})
  if (!('ClipboardItem' in globalThis)) return copyText(text)
  const item = new ClipboardItem({
    'text/plain': new Blob([text], { type: 'text/plain' }),
    'text/html': html.then((markup) => new Blob([markup], { type: 'text/html' })),
  })
  // A browser without HTML on its clipboard, or a part that could not be loaded: the text is better than nothing.
  await navigator.clipboard.write([item]).catch(() => copyText(text))
}
