/**
 * focusComposer moves the focus to the composer on devices with a keyboard, also from a button that disappears when
 * pressed. On a phone this would open the on-screen keyboard.
 */
export function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return
  document.querySelector<HTMLElement>('[data-composer]')?.focus({ preventScroll: true })
}

/** thenFocusComposer returns a handler that acts and then moves the focus to the composer. */
export function thenFocusComposer(act: () => void): () => void {
  return () => {
    act()
    focusComposer()
  }
}
