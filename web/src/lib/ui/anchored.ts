export type Side = 'top' | 'right' | 'bottom' | 'left'
export type Align = 'start' | 'center' | 'end'

/** The gap between a floating box and its anchor, and between it and the edge of the window, in px. */
const gap = 6
const margin = 8

const opposite = { top: 'bottom', bottom: 'top', left: 'right', right: 'left' } as const

/**
 * keepBeside keeps a box (position: fixed at 0, 0) next to its anchor, an element or a range of text, on the side with more space. --room is the
 * available height. It calls onGone if the anchor is removed or hidden. The returned function stops it.
 */
export function keepBeside(
  box: HTMLElement,
  anchor: Element | Range,
  side: Side,
  align: Align,
  onGone?: () => void,
): () => void {
  const move = () =>
    isShown(anchor) ? putBeside(box, anchor.getBoundingClientRect(), side, align) : onGone?.()
  const onScroll = ({ target }: Event) => {
    if (target instanceof Node && !box.contains(target)) move()
  }
  move()
  const observer = new ResizeObserver(move)
  observer.observe(box)
  observer.observe(elementOf(anchor))
  window.addEventListener('resize', move)
  window.addEventListener('scroll', onScroll, { capture: true, passive: true })
  return () => {
    observer.disconnect()
    window.removeEventListener('resize', move)
    window.removeEventListener('scroll', onScroll, { capture: true })
  }
}

function elementOf(anchor: Element | Range): Element {
  if (anchor instanceof Element) return anchor
  const { commonAncestorContainer: node } = anchor
  return node instanceof Element ? node : (node.parentElement ?? document.body)
}

function isShown(anchor: Element | Range): boolean {
  const element = elementOf(anchor)
  return element.isConnected && (element.checkVisibility?.() ?? true)
}

function putBeside(box: HTMLElement, at: DOMRect, side: Side, align: Align): void {
  const { clientWidth, clientHeight } = document.documentElement
  const room = {
    top: at.top - gap - margin,
    bottom: clientHeight - at.bottom - gap - margin,
    left: at.left - gap - margin,
    right: clientWidth - at.right - gap - margin,
  }
  const upright = side === 'top' || side === 'bottom'
  const needed = upright
    ? Math.max(box.offsetHeight, box.firstElementChild?.scrollHeight ?? 0)
    : box.offsetWidth
  const other = opposite[side]
  const on = needed > room[side] && room[other] > room[side] ? other : side
  box.style.setProperty('--room', `${Math.max(room[on], 0)}px`)
  const { offsetWidth: width, offsetHeight: height } = box
  const across = upright ? along(at.left, at.right, width, align) : along(at.top, at.bottom, height, align)
  const beside = {
    top: at.top - gap - height,
    bottom: at.bottom + gap,
    left: at.left - gap - width,
    right: at.right + gap,
  }
  moveTo(
    box,
    upright ? within(across, width, clientWidth) : beside[on],
    upright ? beside[on] : within(across, height, clientHeight),
  )
}

function along(from: number, to: number, size: number, align: Align): number {
  if (align === 'start') return from
  return align === 'end' ? to - size : (from + to - size) / 2
}

function within(at: number, size: number, limit: number): number {
  return Math.max(margin, Math.min(at, limit - margin - size))
}

/** Moves the box to a point of the window, even inside a dialog, which has its own origin. */
function moveTo(box: HTMLElement, x: number, y: number): void {
  const { left, top } = box.getBoundingClientRect()
  box.style.left = `${Math.round((Number.parseFloat(box.style.left) || 0) + x - left)}px`
  box.style.top = `${Math.round((Number.parseFloat(box.style.top) || 0) + y - top)}px`
}
