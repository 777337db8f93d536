import { useAtomValue } from 'jotai'
import { Popover as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { cx } from '@/lib/cx'
import { layerAtom } from '@/lib/layers'
import { store } from '@/lib/store'
import styles from './Popover.module.css'

interface PopoverProps {
  trigger: ReactNode
  label: string
  open?: boolean
  onOpenChange?: (open: boolean) => void
  align?: 'start' | 'center' | 'end'
  side?: 'top' | 'bottom' | 'left' | 'right'
  className?: string | undefined
  children: ReactNode
}

/** A small panel beside a button. Not modal. */
export function Popover({
  trigger,
  label,
  open,
  onOpenChange,
  align = 'end',
  side = 'bottom',
  className,
  children,
}: PopoverProps) {
  const layer = useAtomValue(layerAtom, { store })
  return (
    <Radix.Root {...(open !== undefined && { open })} {...(onOpenChange && { onOpenChange })}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal container={layer}>
        <Radix.Content
          className={cx(styles.popover, className)}
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          aria-label={label}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
