import { useAtomValue } from 'jotai'
import { Check, ExternalLink } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { cx } from '@/lib/cx'
import { layerAtom } from '@/lib/layers'
import { store } from '@/lib/store'
import styles from './Menu.module.css'

interface MenuProps {
  /** The button that opens it: one element that takes a ref. */
  trigger: ReactNode
  align?: 'start' | 'center' | 'end'
  side?: 'top' | 'bottom' | 'left' | 'right'
  /** Called when it has closed; `preventDefault` keeps the focus from going back to the trigger. */
  onCloseAutoFocus?: (event: Event) => void
  onOpenChange?: (open: boolean) => void
  children: ReactNode
}

/** A menu under a button. Not modal: the page stays as it is, and no style element is put into it. */
export function Menu({
  trigger,
  align = 'end',
  side = 'bottom',
  onCloseAutoFocus,
  onOpenChange,
  children,
}: MenuProps) {
  const layer = useAtomValue(layerAtom, { store })
  return (
    <DropdownMenu.Root modal={false} {...(onOpenChange && { onOpenChange })}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={layer}>
        <DropdownMenu.Content
          className={styles.menu}
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          {...(onCloseAutoFocus && { onCloseAutoFocus })}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

interface MenuItemProps {
  icon?: ReactNode
  danger?: boolean
  disabled?: boolean
  onSelect: () => void
  children: ReactNode
}

/** Something to do. */
export function MenuItem({ icon, danger = false, disabled = false, onSelect, children }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      className={cx(styles.item, danger && styles.danger)}
      disabled={disabled}
      onSelect={onSelect}
    >
      {icon}
      {children}
    </DropdownMenu.Item>
  )
}

/** A page outside the app, which opens beside it. */
export function MenuLink({ icon, href, children }: { icon?: ReactNode; href: string; children: ReactNode }) {
  return (
    <DropdownMenu.Item className={styles.item} asChild>
      <a href={href} target="_blank" rel="noreferrer">
        {icon}
        {children}
        <ExternalLink className={styles.check} size={14} aria-label="新しいタブで開きます" />
      </a>
    </DropdownMenu.Item>
  )
}

/** A choice of one: the chosen one is ticked. */
export function MenuChoice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: T
  options: ReadonlyArray<{ value: T; label: string; icon?: ReactNode }>
  onChange: (value: T) => void
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as T)} aria-label={label}>
      <DropdownMenu.Label className={styles.label}>{label}</DropdownMenu.Label>
      {options.map((option) => (
        <DropdownMenu.RadioItem
          key={option.value}
          className={styles.item}
          value={option.value}
          onSelect={(event) => event.preventDefault()}
        >
          {option.icon}
          {option.label}
          <DropdownMenu.ItemIndicator className={styles.check}>
            <Check size={16} aria-hidden />
          </DropdownMenu.ItemIndicator>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}

/** A line between groups. */
export function MenuSeparator() {
  return <DropdownMenu.Separator className={styles.separator} />
}
