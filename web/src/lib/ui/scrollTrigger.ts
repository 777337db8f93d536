import { type RefObject, useEffect, useRef, useState } from 'react'

/** The distance from the end that triggers loading, in pixels. */
const SCROLL_MARGIN = 100

/** The minimum time between two triggers, in milliseconds. */
export const SCROLL_PAUSE = 1000

/** Throttle calls a function at most once in `pause` ms. A call that is too early is delayed. */
export class Throttle {
  readonly #run: () => void
  readonly #pause: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #waiting = false

  constructor(run: () => void, pause: number) {
    this.#run = run
    this.#pause = pause
  }

  /** Runs now, or after the pause. */
  call = (): void => {
    if (this.#timer !== undefined) {
      this.#waiting = true
      return
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!this.#waiting) return
      this.#waiting = false
      this.call()
    }, this.#pause)
    this.#run()
  }

  /** Cancels the pending call. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = false
  }
}

/** The options of a scroll trigger. */
interface ScrollTrigger {
  /** Whether there may be more to load. A disabled trigger observes nothing. */
  enabled: boolean
  /** Called when the sentinel is near, at most once a second, and again while it stays near. */
  onNear: () => void
  /** The end of the scroll container with the sentinel; `start` for a list that grows upwards. */
  edge?: 'start' | 'end'
  /** Changes when more has been loaded, so that a sentinel that is still near triggers again. */
  count: number
  /** Waits for the user to scroll, even if the sentinel is near; again after each load. */
  afterScroll?: boolean
}

/** The part of a list that a scroll trigger needs. */
interface LoadingList {
  readonly items: readonly unknown[]
  readonly ready: boolean
  readonly loadMore: () => void
}

/** useListEnd returns the sentinel for the end of a list, which loads the next page when it comes near. */
export function useListEnd(root: RefObject<HTMLElement | null>, list: LoadingList, afterScroll = false) {
  const { items, ready: enabled, loadMore: onNear } = list
  return useScrollTrigger<HTMLDivElement>(root, { enabled, onNear, count: items.length, afterScroll })
}

/**
 * useScrollTrigger loads more when the returned sentinel comes within 100 px of the visible part of its scroll
 * container, at most once a second. Put `sentinel` on an empty element at the end (or start) of the list.
 */
export function useScrollTrigger<E extends HTMLElement>(
  root: RefObject<HTMLElement | null>,
  { enabled, onNear, edge = 'end', count, afterScroll = false }: ScrollTrigger,
): RefObject<E | null> {
  const sentinel = useRef<E>(null)
  const latest = useRef(onNear)
  const [throttle] = useState(() => new Throttle(() => latest.current(), SCROLL_PAUSE))

  useEffect(() => {
    latest.current = onNear
  })

  useEffect(() => () => throttle.cancel(), [throttle])

  // biome-ignore lint/correctness/useExhaustiveDependencies: `count` re-observes, which reports a sentinel still near.
  useEffect(() => {
    const element = sentinel.current
    if (!enabled || element === null) return
    const margin = edge === 'end' ? `0px 0px ${SCROLL_MARGIN}px 0px` : `${SCROLL_MARGIN}px 0px 0px 0px`
    const box = root.current
    let near = false
    let scrolled = !afterScroll
    const look = () => {
      if (near && scrolled) throttle.call()
    }
    const observer = new IntersectionObserver(
      (entries) => {
        near = entries.at(-1)?.isIntersecting ?? false
        look()
      },
      { root: box, rootMargin: margin },
    )
    const onScroll = () => {
      scrolled = true
      look()
    }
    observer.observe(element)
    if (afterScroll) box?.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      box?.removeEventListener('scroll', onScroll)
    }
  }, [root, enabled, edge, count, afterScroll, throttle])

  return sentinel
}
