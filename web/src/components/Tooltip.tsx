import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { keepBeside, type Side } from '@/lib/ui/anchored'
import { layerAtom } from '@/lib/ui/layers'
import { store } from '@/lib/ui/store'
import styles from './Tooltip.module.css'

/**
 * The delay before the first tooltip, and the time after a tooltip during which the next one appears at once, in ms.
 */
const delay = 450
const soon = 200

const tipId = 'tip'

/**
 * Shows a tooltip for the hovered or focused element that has an accessible label and data-tip, its side. data-tip-keys
 * are its shortcut. A tooltip must not contain the only copy of an information. Rendered once in the app.
 */
export function Tooltips() {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null)
  useEffect(() => followTips(setAnchor), [])
  return anchor && <Tip anchor={anchor} onGone={() => setAnchor(null)} />
}

function Tip({ anchor, onGone }: { anchor: HTMLElement; onGone: () => void }) {
  const [layer] = useState(() => store.get(layerAtom) ?? document.body)
  const tip = useRef<HTMLDivElement>(null)
  const { tip: side, tipKeys } = anchor.dataset
  // biome-ignore lint/correctness/useExhaustiveDependencies: every callback for a lost anchor does the same.
  useLayoutEffect(() => {
    const element = tip.current
    if (element === null) return
    const described = !anchor.hasAttribute('aria-describedby')
    if (described) anchor.setAttribute('aria-describedby', tipId)
    const stop = keepBeside(element, anchor, side as Side, 'center', onGone)
    return () => {
      stop()
      if (described) anchor.removeAttribute('aria-describedby')
    }
  }, [anchor, side])
  return createPortal(
    <div ref={tip} id={tipId} className={styles.tip} role="tooltip" aria-hidden>
      {anchor.getAttribute('aria-label')}
      {tipKeys && <kbd className={styles.keys}>{tipKeys}</kbd>}
    </div>,
    layer,
  )
}

/**
 * followTips calls back with the element whose tooltip must be shown, or null, until the returned function is called.
 */
function followTips(show: (anchor: HTMLElement | null) => void): () => void {
  let under: HTMLElement | null = null // Under the pointer. Its tooltip is shown once.
  let shown: HTMLElement | null = null
  let hiddenAt = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined

  const open = (anchor: HTMLElement) => {
    // A tooltip must not cover an open menu.
    const floating = document.querySelector('[data-floating]')
    if (floating !== null && !floating.contains(anchor)) return
    shown = anchor
    show(anchor)
  }
  const close = () => {
    clearTimeout(timer)
    if (shown === null) return
    shown = null
    hiddenAt = performance.now()
    show(null)
  }
  const goTo = (anchor: HTMLElement | null) => {
    if (anchor === under) return
    under = anchor
    close()
    if (anchor) timer = setTimeout(open, performance.now() - hiddenAt < soon ? 0 : delay, anchor)
  }
  // When a closed dialog or menu restores the focus after a click or touch, no tooltip is needed.
  const onFocusIn = (event: FocusEvent) => {
    const anchor = anchorAt(event)
    if (anchor !== event.target || !anchor?.matches(':focus-visible')) return
    close()
    open(anchor)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !shown?.isConnected || event.defaultPrevented) return
    event.preventDefault()
    close()
  }
  const onScroll = ({ target }: Event) => {
    if (target instanceof Node && target.contains(shown ?? under)) close()
  }
  const controller = new AbortController()
  const options = { capture: true, signal: controller.signal }
  document.addEventListener(
    'pointerover',
    (event) => goTo(event.pointerType === 'touch' ? null : anchorAt(event)),
    options,
  )
  document.documentElement.addEventListener('pointerleave', () => goTo(null), { signal: controller.signal })
  document.addEventListener('focusin', onFocusIn, options)
  document.addEventListener('keydown', onKeyDown, options)
  document.addEventListener('scroll', onScroll, { ...options, passive: true })
  for (const event of ['pointerdown', 'click', 'focusout']) document.addEventListener(event, close, options)
  return () => {
    clearTimeout(timer)
    controller.abort()
  }
}

function anchorAt({ target }: Event): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('[data-tip]') : null
}
