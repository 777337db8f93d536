import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** The distance from the end, in pixels, that counts as being at the end. */
const near = 48

export type AutoScroll = ReturnType<typeof useAutoScroll>

/** The space above an answer that is shown from its start, in pixels. */
const margin = 8

/**
 * useAutoScroll keeps the end of a growing text in view until the reader scrolls up. An answer with `data-hold` is followed
 * only until its start reaches the top. `first` identifies the first item: when an earlier one is inserted, the visible
 * text stays in place.
 */
export function useAutoScroll(first: string | undefined) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  /** Whether the reader has scrolled up and the end is out of view. */
  const [away, setAway] = useState(false)

  const toEnd = useCallback((smooth = false) => {
    const box = scroller.current
    if (box === null) return
    following.current = true
    setAway(false)
    box.scrollTo({ top: box.scrollHeight, behavior: smooth ? 'smooth' : 'instant' })
  }, [])

  /** Scrolls to an item and stops following the end. */
  const toItem = useCallback((item: Element) => {
    following.current = false
    item.scrollIntoView({ block: 'center' })
  }, [])

  useFollowing(scroller, content, following, setAway, first !== undefined)
  useKeepPlace(scroller, content, following, first)
  return { scroller, content, away, toEnd, toItem }
}

function useFollowing(
  scroller: RefObject<HTMLDivElement | null>,
  content: RefObject<HTMLDivElement | null>,
  following: RefObject<boolean>,
  setAway: (away: boolean) => void,
  active: boolean,
): void {
  useLayoutEffect(() => {
    if (!active) return
    const box = scroller.current
    const inner = content.current
    if (box === null || inner === null) return
    let held: Element | null = null
    const follow = () => {
      const hold = inner.querySelector('[data-turn]:last-child [data-hold]')
      box.scrollTop = box.scrollHeight
      if (hold === null || hold === held) return
      const above = box.getBoundingClientRect().top - hold.getBoundingClientRect().top
      if (above <= 0) return
      held = hold
      following.current = false
      box.scrollTop -= above + margin
      setAway(distanceToEnd() > near * 3)
    }
    const distanceToEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight
    follow()
    let top = box.scrollTop
    let height = box.scrollHeight

    const onScroll = () => {
      const distance = distanceToEnd()
      // Growing text never moves the view up, so the reader did. Shrinking text moves it up by at most the lost height.
      const up = top - box.scrollTop > Math.max(0, height - box.scrollHeight) + 1
      if (distance < near) following.current = true
      else if (up) following.current = false
      top = box.scrollTop
      height = box.scrollHeight
      setAway(!following.current && distance > near * 3)
    }
    // Runs after layout and before paint, so that the end is in view in every frame.
    const observer = new ResizeObserver(() => {
      if (following.current) follow()
      else setAway(distanceToEnd() > near * 3)
    })
    // The reader continues with the unfolded element, which opens downwards, so stop following the end.
    const onClick = ({ target }: MouseEvent) => {
      if (target instanceof Element && target.closest('[data-unfold]')) following.current = false
    }
    observer.observe(inner)
    observer.observe(box)
    box.addEventListener('scroll', onScroll, { passive: true })
    box.addEventListener('click', onClick, { capture: true })
    return () => {
      observer.disconnect()
      box.removeEventListener('click', onClick, { capture: true })
      box.removeEventListener('scroll', onScroll)
    }
  }, [scroller, content, following, setAway, active])
}

/** useKeepPlace keeps the first item at its position on the screen when items are inserted before it. */
function useKeepPlace(
  scroller: RefObject<HTMLDivElement | null>,
  content: RefObject<HTMLDivElement | null>,
  following: RefObject<boolean>,
  first: string | undefined,
): void {
  const anchor = useRef<{ element: Element; top: number } | null>(null)

  useLayoutEffect(() => {
    const box = scroller.current
    const before = anchor.current
    if (box === null || before === null || first === undefined) return
    if (before.element.isConnected && !following.current) {
      box.scrollTop += before.element.getBoundingClientRect().top - before.top
    }
  }, [scroller, following, first])

  // After every commit, to have the positions from before the next one.
  useEffect(() => {
    const box = scroller.current
    if (box === null) return
    const remember = () => {
      // Not needed while following the end. Measuring would cause a second layout for every change.
      if (following.current) {
        anchor.current = null
        return
      }
      const element = visibleItem(content.current, box)
      anchor.current = element && { element, top: element.getBoundingClientRect().top }
    }
    remember()
    box.addEventListener('scroll', remember, { passive: true })
    return () => box.removeEventListener('scroll', remember)
  })
}

function visibleItem(content: HTMLElement | null, box: HTMLElement): Element | null {
  const edge = box.getBoundingClientRect().top
  for (const item of content?.querySelectorAll('[data-turn]') ?? []) {
    if (item.getBoundingClientRect().bottom > edge) return item
  }
  return null
}
