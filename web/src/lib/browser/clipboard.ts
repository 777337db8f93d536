/** Writes a text to the clipboard. Rejects instead of throwing if the browser has no clipboard. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
}

/**
 * Writes a text to the clipboard, also as HTML for programs that accept headings and tables (Word, Outlook, Excel). The
 * HTML may still be loading, but the item is created at once, because Safari requires it within the click.
 */
export async function copyRich(text: string, html: Promise<string>): Promise<void> {
  // The consumer of the promise handles its failure. This prevents an unhandled rejection.
  html.catch(() => {})
  if (!('ClipboardItem' in globalThis)) return copyText(text)
  const item = new ClipboardItem({
    'text/plain': new Blob([text], { type: 'text/plain' }),
    'text/html': html.then((markup) => new Blob([markup], { type: 'text/html' })),
  })
  // The browser does not support HTML on the clipboard, or a chunk failed to load: fall back to the text.
  await navigator.clipboard.write([item]).catch(() => copyText(text))
}
