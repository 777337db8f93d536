import { cloneElement, type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import type { Align } from '@/lib/ui/anchored'
import { Floating } from './Floating'
import type { Trigger } from './Menu'

interface PopoverProps {
  trigger: Trigger
  label: string
  open?: boolean
  onOpenChange?: (open: boolean) => void
  align?: Align
  /** Shows the panel at the bottom of a phone. */
  sheet?: boolean
  className?: string | undefined
  children: ReactNode
}

/** A small non-modal panel next to a button. */
export function Popover({
  trigger,
  label,
  open,
  onOpenChange,
  align = 'end',
  sheet,
  className,
  children,
}: PopoverProps) {
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const [own, setOwn] = useState(false)
  const shown = open ?? own
  const show = onOpenChange ?? setOwn
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        'aria-haspopup': 'dialog',
        'aria-expanded': shown,
        'aria-controls': shown ? id : undefined,
        onClick: () => show(!shown),
      })}
      {shown && (
        <Floating
          anchor={button}
          align={align}
          sheet={sheet}
          id={id}
          className={className}
          role="dialog"
          aria-label={label}
          onOpen={(panel) =>
            (stopsIn(panel).find((stop) => !stop.matches('a')) ?? panel).focus({ preventScroll: true })
          }
          onClose={() => show(false)}
          onKeyDown={goRound}
        >
          {children}
        </Floating>
      )}
    </>
  )
}

/** stopsIn returns the focusable elements. */
function stopsIn(panel: Element): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('a[href], button, input, [tabindex="0"]')].filter(
    (stop) => !stop.matches(':disabled') && stop.checkVisibility(),
  )
}

/** goRound makes Tab wrap around at the ends of the panel. */
function goRound(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'Tab' || event.altKey || event.ctrlKey || event.metaKey) return
  const { currentTarget: panel } = event
  const stops = stopsIn(panel)
  const [first, last] = [stops[0] ?? panel, stops.at(-1) ?? panel]
  const at = document.activeElement
  if (event.shiftKey ? at === first || at === panel : at === last) {
    event.preventDefault()
    const to = event.shiftKey ? last : first
    to.focus()
  }
}
