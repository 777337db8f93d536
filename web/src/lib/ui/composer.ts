/**
 * Moves the focus to the composer where there is a keyboard, also from a button that goes away when it is pressed. On a
 * phone this would raise the keyboard over the page.
 */
export function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return
  document.querySelector<HTMLElement>('[data-composer]')?.focus({ preventScroll: true })
}
