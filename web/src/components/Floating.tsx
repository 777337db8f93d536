import {
  type HTMLAttributes,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { type Align, keepBeside } from '@/lib/ui/anchored'
import { cx } from '@/lib/ui/cx'
import { ime } from '@/lib/ui/ime'
import { layerAtom } from '@/lib/ui/layers'
import { PHONE, useMedia } from '@/lib/ui/media'
import { store } from '@/lib/ui/store'
import styles from './Floating.module.css'

export interface FloatingProps extends HTMLAttributes<HTMLDivElement> {
  /** The button that opens the panel. Events there do not count as outside, and the focus returns to it. */
  anchor: RefObject<HTMLElement | null>
  align: Align
  /** Shows the panel at the bottom of a phone instead. */
  sheet?: boolean | undefined
  onClose: () => void
  /**
   * Called after the panel was removed from the page. `preventDefault` keeps the focus from returning to the anchor.
   */
  onCloseAutoFocus?: ((event: Event) => void) | undefined
  /** Sets the initial focus. */
  onOpen: (panel: HTMLElement) => void
}

/**
 * A non-modal panel under a button, above all other content. It closes on Esc, and on a press or focus outside, which
 * then keeps the focus. Render it only while it is open.
 */
export function Floating({
  anchor,
  align,
  sheet = false,
  onClose,
  onCloseAutoFocus,
  onOpen,
  className,
  ...rest
}: FloatingProps) {
  const atBottom = useMedia(PHONE) && sheet
  const [layer] = useState(() => store.get(layerAtom) ?? document.body)
  const box = useRef<HTMLDivElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const open = useEffectEvent(onOpen)
  const close = useEffectEvent(onClose)
  const closed = useEffectEvent((event: Event) => onCloseAutoFocus?.(event))

  useLayoutEffect(() => {
    const [element, button] = [box.current, anchor.current]
    return element && button && !atBottom ? keepBeside(element, button, 'bottom', align) : undefined
  }, [anchor, align, atBottom])

  useEffect(() => {
    const [element, content, button] = [box.current, panel.current, anchor.current]
    if (element === null || content === null || button === null) return
    open(content)
    let left = false
    const stop = whenLeft(content, button, (target) => {
      // A press on the dimmed page only closes a sheet.
      left = target !== undefined && !element.contains(target)
      close()
    })
    return () => {
      stop()
      // The chosen item may take the focus first.
      setTimeout(() => {
        if (element.isConnected) return // The effect ran again; the panel is still open.
        const event = new Event('closed', { cancelable: true })
        closed(event)
        if (!left && !event.defaultPrevented) button.focus({ preventScroll: true })
      })
    }
  }, [anchor])

  return createPortal(
    <div ref={box} className={cx(atBottom ? styles.sheet : styles.floating)} data-floating>
      <div ref={panel} className={cx(styles.panel, className)} tabIndex={-1} {...rest} />
    </div>,
    layer,
  )
}

/** whenLeft calls back on Esc, and on a press or focus on a target outside. The returned function unsubscribes. */
function whenLeft(panel: HTMLElement, anchor: HTMLElement, onLeft: (target?: Node) => void): () => void {
  const controller = new AbortController()
  const options = { capture: true, signal: controller.signal }
  const leave = ({ target }: Event) => {
    if (target instanceof Node && !panel.contains(target) && !anchor.contains(target)) onLeft(target)
  }
  // A touch may begin a scroll, so only a click counts as a press.
  const onPointerDown = (event: PointerEvent) => {
    if (event.pointerType === 'touch') document.addEventListener('click', leave, { ...options, once: true })
    else leave(event)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented || ime.isComposing(event)) return
    event.preventDefault()
    onLeft()
  }
  document.addEventListener('pointerdown', onPointerDown, options)
  document.addEventListener('focusin', leave, options)
  document.addEventListener('keydown', onKeyDown, options)
  return () => controller.abort()
}
