/** How large a page is drawn: times the width of the panel, or so that all of it is seen. */
export type Zoom = number | 'whole'

const STEPS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4] as const
const [LEAST] = STEPS
const MOST = 4

/** The next larger or smaller step from a zoom on. */
export function stepZoom(zoom: number, larger: boolean): number {
  const next = larger
    ? STEPS.find((step) => step > zoom + 0.01)
    : STEPS.findLast((step) => step < zoom - 0.01)
  return next ?? (larger ? MOST : LEAST)
}

/** The zoom after a turn of the wheel, by its delta in pixels. */
export function wheelZoom(zoom: number, delta: number): number {
  return Math.min(MOST, Math.max(LEAST, zoom * Math.exp(-delta / 300)))
}

/** The zoom at which a page of a ratio is seen whole in a box. */
export function wholeZoom(ratio: number, width: number, height: number): number {
  if (width <= 0 || height <= 0) return 1
  return Math.min(1, (height * ratio) / width)
}
