import type { KeyboardEvent } from 'react'
import { useRef } from 'react'
import { ime } from '@/lib/ui/ime'
import { stepZoom } from './zoom'

/** The minimum interval between actions of a held key, in milliseconds. Browsers limit the rate of URL changes. */
const REPEAT_MS = 400

/** `;` and `=` are the unshifted + keys on Japanese and American keyboards. */
const keys = ['ArrowLeft', 'ArrowRight', '[', ']', '+', ';', '=', '-', '0']

interface KeyActions {
  readonly turn: (by: 1 | -1) => void
  readonly step: (by: 1 | -1) => void
  /** Null if the view has no zoom. */
  readonly zoom: ((zoom: number) => void) | null
  readonly scale: number
}

/**
 * useKeys handles the keys while the viewer has the focus: ← and → turn pages, [ and ] step through citations, + and -
 * zoom.
 */
export function useKeys({ turn, step, zoom, scale }: KeyActions): (event: KeyboardEvent) => void {
  const last = useRef(0)
  const enlarge = (larger: boolean) => zoom?.(stepZoom(scale, larger))
  const act = (key: string): void => {
    if (key === 'ArrowLeft' || key === 'ArrowRight') turn(key === 'ArrowLeft' ? -1 : 1)
    else if (key === '[' || key === ']') step(key === '[' ? -1 : 1)
    else if (key === '0') zoom?.(1)
    else enlarge(key !== '-')
  }
  return (event) => {
    const { target, key, repeat, timeStamp } = event
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || ime.isComposing(event))
      return
    if (target instanceof HTMLInputElement || !keys.includes(key)) return
    // The arrow keys scroll a page that is wider than the panel.
    if (key.startsWith('Arrow') && scrollsSideways(target)) return
    event.preventDefault()
    if (repeat && timeStamp - last.current < REPEAT_MS) return
    last.current = timeStamp
    act(key)
  }
}

function scrollsSideways(target: EventTarget): boolean {
  return target instanceof Element && target.scrollWidth > target.clientWidth + 1
}
