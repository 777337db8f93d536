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
import { layerAtom } from '@/lib/ui/layers'
import { store } from '@/lib/ui/store'
import styles from './Floating.module.css'

export interface FloatingProps extends HTMLAttributes<HTMLDivElement> {
  /** The button that it belongs to: what happens there is not outside, and the focus goes back to it. */
  anchor: RefObject<HTMLElement | null>
  align: Align
  onClose: () => void
  /** Called when it has been taken out of the page; `preventDefault` keeps the focus from going back. */
  onCloseAutoFocus?: ((event: Event) => void) | undefined
  /** Gives the focus to what is to have it first. */
  onOpen: (panel: HTMLElement) => void
}

/**
 * A panel under a button, over everything else and not modal. Esc closes it, and so does a press or the focus anywhere else,
 * which then stays there. Render it only while it is open.
 */
export function Floating({
  anchor,
  align,
  onClose,
  onCloseAutoFocus,
  onOpen,
  className,
  ...rest
}: FloatingProps) {
  const [layer] = useState(() => store.get(layerAtom) ?? document.body)
  const box = useRef<HTMLDivElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const open = useEffectEvent(onOpen)
  const close = useEffectEvent(onClose)
  const closed = useEffectEvent((event: Event) => onCloseAutoFocus?.(event))

  useLayoutEffect(() => {
    const [element, button] = [box.current, anchor.current]
    return element && button ? keepBeside(element, button, 'bottom', align) : undefined
  }, [anchor, align])

  useEffect(() => {
    const [element, button] = [box.current, anchor.current]
    if (element === null || button === null) return
    if (panel.current) open(panel.current)
    let left = false
    const stop = whenLeft(element, button, (outside) => {
      left = outside
      close()
    })
    return () => {
      stop()
      // What was chosen may take the focus first.
      setTimeout(() => {
        if (element.isConnected) return // It was only looked at again.
        const event = new Event('closed', { cancelable: true })
        closed(event)
        if (!left && !event.defaultPrevented) button.focus({ preventScroll: true })
      })
    }
  }, [anchor])

  return createPortal(
    <div ref={box} className={styles.floating}>
      <div ref={panel} className={cx(styles.panel, className)} tabIndex={-1} {...rest} />
    </div>,
    layer,
  )
}

/** Calls back on Esc, and when a press or the focus goes elsewhere (outside). The returned function ends it. */
function whenLeft(box: HTMLElement, anchor: HTMLElement, onLeft: (outside: boolean) => void): () => void {
  const controller = new AbortController()
  const options = { capture: true, signal: controller.signal }
  const leave = ({ target }: Event) => {
    if (target instanceof Node && !box.contains(target) && !anchor.contains(target)) onLeft(true)
  }
  // A finger that is put down may be about to scroll: it has pressed when it clicks.
  const onPointerDown = (event: PointerEvent) => {
    if (event.pointerType === 'touch') document.addEventListener('click', leave, { ...options, once: true })
    else leave(event)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    event.preventDefault()
    onLeft(false)
  }
  document.addEventListener('pointerdown', onPointerDown, options)
  document.addEventListener('focusin', leave, options)
  document.addEventListener('keydown', onKeyDown, options)
  return () => controller.abort()
}
