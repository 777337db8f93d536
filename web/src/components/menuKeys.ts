import { type KeyboardEvent, type PointerEvent, useRef } from 'react'

/** The maximum time between the letters of a name, in milliseconds. */
const typingMs = 1000

const items = '[role^="menuitem"]'

/** itemsOf returns the enabled items of a menu, in order. */
export function itemsOf(menu: Element): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(`${items}:not([aria-disabled="true"])`)]
}

/**
 * useMenuKeys implements a menu: arrow keys, Home, End, letters and the pointer move to an item; a press or a release
 * chooses it. `covers` means that the menu opened over its button, so the release of the press that opened it is ignored.
 */
export function useMenuKeys(covers: boolean) {
  const typed = useRef({ text: '', at: 0 })
  const pressed = useRef(covers)

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { key, currentTarget: menu } = event
    const all = itemsOf(menu)
    const at = all.indexOf(document.activeElement as HTMLElement)
    if (key === 'Tab') return event.preventDefault()
    const now = event.timeStamp
    const typing = now - typed.current.at < typingMs && typed.current.text !== ''
    if (key === 'Enter' || (key === ' ' && !typing)) {
      event.preventDefault()
      // The key that opened the menu may still be held.
      if (!event.repeat) all[at]?.click()
    } else if (key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey) {
      if (key === ' ') event.preventDefault()
      const text = (typing ? typed.current.text : '') + key.toLowerCase()
      typed.current = { text, at: now }
      named(all, at, text)?.focus()
    } else {
      const to = target(key, at, all.length)
      if (to === null) return
      event.preventDefault()
      all[to]?.focus()
    }
  }
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (event.pointerType !== 'mouse') return
    const item = itemAt(event)
    if (item !== document.activeElement) (item ?? event.currentTarget).focus({ preventScroll: true })
  }
  return {
    onKeyDown,
    onPointerMove,
    onPointerLeave: (event: PointerEvent<HTMLElement>) => {
      if (event.pointerType === 'mouse') event.currentTarget.focus({ preventScroll: true })
    },
    onPointerDown: () => {
      pressed.current = true
    },
    // A press on the button that is released over an item chooses the item, although no click occurs.
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      if (!pressed.current) itemAt(event)?.click()
      pressed.current = false
    },
  }
}

function itemAt({ target, currentTarget }: PointerEvent<HTMLElement>): HTMLElement | undefined {
  const at = target instanceof Element ? target.closest(items) : null
  return itemsOf(currentTarget).find((item) => item === at)
}

/** target returns the index of the item that a key moves to, from an item or from none (-1). */
function target(key: string, at: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return Math.min(at + 1, count - 1)
    case 'ArrowUp':
      return at === -1 ? count - 1 : Math.max(at - 1, 0)
    case 'Home':
    case 'PageUp':
      return 0
    case 'End':
    case 'PageDown':
      return count - 1
    default:
      return null
  }
}

/** named returns the next item whose name begins with the typed text. Repeating a letter cycles through all of them. */
function named(all: readonly HTMLElement[], at: number, text: string): HTMLElement | undefined {
  const letters = [...text]
  const one = letters.every((letter) => letter === letters[0])
  const begin = one ? (letters[0] ?? '') : text
  const from = one ? at + 1 : Math.max(at, 0)
  return [...all.slice(from), ...all.slice(0, from)].find((item) =>
    item.textContent.trim().toLowerCase().startsWith(begin),
  )
}
