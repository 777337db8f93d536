import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Nearer to the end than this, in pixels, the reader is at the end. */
const near = 48

export interface Follow {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly content: RefObject<HTMLDivElement | null>
  /** Whether the reader has gone up and the end is out of sight. */
  readonly away: boolean
  readonly toEnd: (smooth?: boolean) => void
  /** Brings an item into view and stays there, however the text grows. */
  readonly toItem: (item: Element) => void
}

/** The space above an answer that is read from its start, in pixels. */
const margin = 8

/**
 * Keeps the end of a growing text in view while the reader is there, and leaves them alone as soon as they scroll up.
 * Where the last answer is one to be read from its start (`data-hold`), it is followed until that reaches the top.
 * `first` names the first item: when another one comes before it, what is being read stays where it is.
 */
export function useFollow(first: string | undefined): Follow {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  const [away, setAway] = useState(false)

  const toEnd = useCallback((smooth = false) => {
    const box = scroller.current
    if (box === null) return
    following.current = true
    setAway(false)
    box.scrollTo({ top: box.scrollHeight, behavior: smooth ? 'smooth' : 'instant' })
  }, [])

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
      // Only the reader moves up while the text grows. A text that became shorter moves up by no more than it lost.
      const up = top - box.scrollTop > Math.max(0, height - box.scrollHeight) + 1
      if (distance < near) following.current = true
      else if (up) following.current = false
      top = box.scrollTop
      height = box.scrollHeight
      setAway(!following.current && distance > near * 3)
    }
    // Runs after layout and before paint: the end never leaves the screen for a frame.
    const observer = new ResizeObserver(() => {
      if (following.current) follow()
      else setAway(distanceToEnd() > near * 3)
    })
    // What a reader unfolds is what they read next: it opens downwards, and the end can wait.
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

/** Remembers where the first item stands on the screen, and puts it back there when items have come before it. */
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

  // After every commit, so that the next one finds where things stood before it.
  useEffect(() => {
    const box = scroller.current
    if (box === null) return
    const remember = () => {
      // Where the end is kept in view nothing else is; to look would lay out the page a second time for every change.
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
