/** The fields of a key event that {@link Ime.isComposing} needs. */
export interface KeyEventLike {
  isComposing?: boolean
  keyCode?: number
  nativeEvent?: { isComposing?: boolean }
}

/**
 * Ime distinguishes keys for an input method from keys for the app. It needs three signs: `isComposing` (the standard),
 * key code 229 (Safari sends the confirming Enter with it, after the composition has ended), and a composition that
 * ended within this tick (older WebKit and some Android keyboards send a plain Enter right after).
 */
export class Ime {
  #justEnded = false

  /** Observes compositions below `target`. The returned function stops it. */
  watch(target: EventTarget): () => void {
    const onEnd = () => {
      this.#justEnded = true
      setTimeout(() => {
        this.#justEnded = false
      })
    }
    target.addEventListener('compositionend', onEnd, true)
    return () => target.removeEventListener('compositionend', onEnd, true)
  }

  /** Whether this key event belongs to the input method. Accepts DOM and React events. */
  isComposing(event: KeyEventLike): boolean {
    return (
      this.#justEnded ||
      event.isComposing === true ||
      event.nativeEvent?.isComposing === true ||
      event.keyCode === 229
    )
  }
}

/** The app's only instance. `main.tsx` attaches it to the document. */
export const ime = new Ime()

/** isEnter reports whether this Enter submits: it is neither a line break (Shift) nor the end of a conversion. */
export function isEnter(event: KeyEventLike & { key: string; shiftKey?: boolean }): boolean {
  return event.key === 'Enter' && event.shiftKey !== true && !ime.isComposing(event)
}
