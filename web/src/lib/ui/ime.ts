/** What a key event must have for {@link Ime.isComposing}. */
export interface KeyEventLike {
  isComposing?: boolean
  keyCode?: number
  nativeEvent?: { isComposing?: boolean }
}

/**
 * Tells a key that belongs to an input method from one that belongs to the app. Three signs are needed: `isComposing`
 * (the standard), key code 229 (Safari sends the confirming Enter with it, after the composition has ended), and a
 * composition that ended within this tick (older WebKit and some Android keyboards send a plain Enter right after).
 */
export class Ime {
  #justEnded = false

  /** Watches compositions below `target`; the returned function stops it. */
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

  /** Whether this key event is the input method's business. Takes DOM and React events. */
  isComposing(event: KeyEventLike): boolean {
    return (
      this.#justEnded ||
      event.isComposing === true ||
      event.nativeEvent?.isComposing === true ||
      event.keyCode === 229
    )
  }
}

/** The one guard of the app. `main.tsx` lets it watch the document. */
export const ime = new Ime()

/** Whether this is an Enter by which a person means "do it": no break (Shift), no conversion. */
export function isEnter(event: KeyEventLike & { key: string; shiftKey?: boolean }): boolean {
  return event.key === 'Enter' && event.shiftKey !== true && !ime.isComposing(event)
}
