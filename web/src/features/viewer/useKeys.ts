import type { KeyboardEvent } from 'react'
import { useRef } from 'react'
import { ime } from '@/lib/ui/ime'
import { stepZoom } from './zoom'

/** How often a key that is held down acts, in milliseconds: browsers bound how often the address may change. */
const REPEAT_MS = 400

/** `;` and `=` are the keys with + on Japanese and American keyboards, without Shift. */
const keys = ['ArrowLeft', 'ArrowRight', '[', ']', '+', ';', '=', '-', '0']

interface KeyActions {
  readonly turn: (by: 1 | -1) => void
  readonly step: (by: 1 | -1) => void
  /** Null where there is nothing to enlarge. */
  readonly zoom: ((zoom: number) => void) | null
  readonly scale: number
}

/** The keys of the viewer while the focus is in it: ← and → turn pages, [ and ] go to other citations, + and - zoom. */
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
    // A page that is wider than the panel is moved by the arrows.
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
