/**
 * followKeyboard sets --keyboard to the height of the on-screen keyboard where the browser does not shrink the page for
 * it (Safari), so that the composer stays above the keyboard.
 */
export function followKeyboard({ visualViewport, document, scrollTo }: Window): void {
  visualViewport?.addEventListener('resize', ({ currentTarget }) => {
    const { height, scale } = currentTarget as VisualViewport
    const { style, clientHeight } = document.documentElement
    const hidden = scale === 1 ? Math.max(0, Math.round(clientHeight - height)) : 0
    style.setProperty('--keyboard', `${hidden}px`)
    if (hidden > 0) scrollTo(0, 0) // Safari has moved the page up to show the field.
  })
}
