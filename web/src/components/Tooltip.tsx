import { useAtomValue } from 'jotai'
import { Tooltip as Radix } from 'radix-ui'
import type { FocusEvent, ReactNode } from 'react'
import { layerAtom } from '@/lib/layers'
import { store } from '@/lib/store'
import styles from './Tooltip.module.css'

interface TooltipProps {
  label: string
  shortcut?: string | undefined
  side?: 'top' | 'right' | 'bottom' | 'left' | undefined
  /** One element that takes a ref and event handlers. */
  children: ReactNode
}

/** Names what is under the pointer or the focus. Never the only place where something is said. */
export function Tooltip({ label, shortcut, side = 'bottom', children }: TooltipProps) {
  const layer = useAtomValue(layerAtom, { store })
  return (
    <Radix.Root>
      <Radix.Trigger asChild onFocus={onlyByKeyboard}>
        {children}
      </Radix.Trigger>
      <Radix.Portal container={layer}>
        <Radix.Content className={styles.tip} side={side} sideOffset={6} collisionPadding={8} aria-hidden>
          {label}
          {shortcut && <kbd className={styles.keys}>{shortcut}</kbd>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** The focus that a closed dialog or menu gives back after a click or touch is no question what a button is. */
function onlyByKeyboard(event: FocusEvent<HTMLElement>): void {
  if (!event.currentTarget.matches(':focus-visible')) event.preventDefault()
}

/** Stands once around the app: tooltips that follow each other open without delay. */
export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <Radix.Provider delayDuration={450} skipDelayDuration={200} disableHoverableContent>
      {children}
    </Radix.Provider>
  )
}
