import { type RefObject, useLayoutEffect, useState } from 'react'

/** The number of rows to render above and below the visible part, so that Tab and the screen reader find the next. */
const spare = 20
/** The maximum number of rows that are all rendered. */
const few = 60
/** The range changes in steps of this number of rows, so that scrolling rarely renders. */
const step = 10

/** Rows is the range of the rows to render, and the height of one with the gap in px. */
interface Rows {
  readonly from: number
  readonly to: number
  readonly height: number
}

/**
 * useRows returns which rows of a long list to render: those near the visible part of its scroll container, which can
 * have the focus. All rows have the same height, and each has its number in aria-posinset.
 */
export function useRows(
  scroller: RefObject<HTMLElement | null>,
  list: RefObject<HTMLElement | null>,
  count: number,
): Rows {
  const [rows, setRows] = useState<Rows>({ from: 0, to: few, height: 0 })
  useLayoutEffect(() => {
    const [box, element] = [scroller.current, list.current]
    if (box === null || element === null) return
    const look = () => {
      const next = rowsNear(box, element, count)
      keepFocus(box, element, next)
      setRows((before) => (JSON.stringify(next) === JSON.stringify(before) ? before : next))
    }
    look()
    const observer = new ResizeObserver(look)
    observer.observe(box)
    box.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      box.removeEventListener('scroll', look)
    }
  }, [scroller, list, count])
  return { ...rows, from: Math.min(rows.from, count), to: Math.min(rows.to, count) }
}

function rowsNear(box: HTMLElement, list: HTMLElement, count: number): Rows {
  const row = list.firstElementChild?.getBoundingClientRect().height ?? 0
  if (count <= few || row === 0) return { from: 0, to: count, height: 0 }
  const height = row + Number.parseFloat(getComputedStyle(list).rowGap)
  const hidden = box.getBoundingClientRect().top - list.getBoundingClientRect().top
  const first = Math.floor(hidden / height / step) * step - spare
  const end = Math.ceil((hidden + box.clientHeight) / height / step) * step + spare
  const within = (at: number, least: number) => Math.min(Math.max(at, least), count - 1 + least)
  return { from: within(first, 0), to: within(end, 1), height }
}

/** keepFocus moves the focus from a row that will be removed to the scroll container, so that Tab continues there. */
function keepFocus(box: HTMLElement, list: HTMLElement, { from, to }: Rows): void {
  const focused = Number(list.querySelector(':scope > :focus-within')?.ariaPosInSet ?? from + 1)
  if (focused <= from || focused > to) box.focus({ preventScroll: true })
}
