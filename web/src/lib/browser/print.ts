/** The time for an open menu to close, in milliseconds. An open menu would be printed. */
const closingMs = 100

/** printSoon calls print after an open menu has closed. */
export function printSoon(print: () => void): void {
  setTimeout(print, closingMs)
}

/** printOnly prints one turn of the page's chat. */
export function printOnly(turn: Element | null): void {
  if (turn === null) return
  printSoon(() => {
    turn.setAttribute('data-print', 'only')
    // Some browsers return from print() while their preview is still open.
    window.addEventListener('afterprint', () => turn.removeAttribute('data-print'), { once: true })
    window.print()
  })
}
