/** Zoom is the width of a page as a multiple of the panel's width, or `whole` to fit the page into the panel. */
export type Zoom = number | 'whole'

const STEPS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4] as const
const [LEAST] = STEPS
const MOST = 4

/** stepZoom returns the next larger or smaller zoom. */
export function stepZoom(zoom: number, larger: boolean): number {
  const next = larger
    ? STEPS.find((step) => step > zoom + 0.01)
    : STEPS.findLast((step) => step < zoom - 0.01)
  return next ?? (larger ? MOST : LEAST)
}

/** wheelZoom returns the zoom after a wheel event with a delta in pixels. */
export function wheelZoom(zoom: number, delta: number): number {
  return Math.min(MOST, Math.max(LEAST, zoom * Math.exp(-delta / 300)))
}

/** wholeZoom returns the zoom that fits a page into a box. */
export function wholeZoom(ratio: number, width: number, height: number): number {
  if (width <= 0 || height <= 0) return 1
  return Math.min(1, (height * ratio) / width)
}
