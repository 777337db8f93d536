import { Check, ExternalLink } from 'lucide-react'
import {
  type ComponentPropsWithRef,
  cloneElement,
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
  useRef,
  useState,
} from 'react'
import type { Align } from '@/lib/ui/anchored'
import { cx } from '@/lib/ui/cx'
import { PHONE, useMedia } from '@/lib/ui/media'
import { Floating, type FloatingProps } from './Floating'
import styles from './Menu.module.css'
import { itemsOf, useMenuKeys } from './menuKeys'

/** Trigger is the button that opens something: one element that accepts a ref and the properties of a button. */
export type Trigger = ReactElement<ComponentPropsWithRef<'button'>>

interface MenuProps {
  trigger: Trigger
  align?: Align
  /** Shows the menu at the bottom of a phone. */
  sheet?: boolean
  /** Called after closing. `preventDefault` keeps the focus from returning to the trigger. */
  onCloseAutoFocus?: (event: Event) => void
  children: ReactNode
}

/** Closes the surrounding menu. */
const CloseContext = createContext(() => {})

/** A non-modal menu under a button. */
export function Menu({ trigger, align = 'end', sheet, onCloseAutoFocus, children }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const [open, setOpen] = useState<'by pointer' | 'by key' | null>(null)
  const toggle = (how: 'by pointer' | 'by key') => setOpen(open === null ? how : null)
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        id,
        'aria-haspopup': 'menu',
        'aria-expanded': open !== null,
        'aria-controls': open === null ? undefined : `${id}menu`,
        onPointerDown: (event) => {
          if (event.button !== 0 || event.ctrlKey) return
          // Keep the focus in the menu instead of its button.
          if (open === null) event.preventDefault()
          toggle('by pointer')
        },
        onKeyDown: (event) => {
          if (!['Enter', ' ', 'ArrowDown'].includes(event.key)) return
          event.preventDefault()
          if (!event.repeat) toggle('by key')
        },
        // Clicked without a pointer or a key, for example by a screen reader.
        onClick: (event) => {
          if (event.detail === 0) toggle('by key')
        },
      })}
      {open !== null && (
        <MenuPanel
          id={`${id}menu`}
          aria-labelledby={id}
          anchor={button}
          align={align}
          sheet={sheet}
          onClose={() => setOpen(null)}
          onCloseAutoFocus={onCloseAutoFocus}
          onOpen={(menu) => ((open === 'by key' && itemsOf(menu)[0]) || menu).focus({ preventScroll: true })}
        >
          {children}
        </MenuPanel>
      )}
    </>
  )
}

function MenuPanel({ children, ...rest }: FloatingProps) {
  const covers = useMedia(PHONE) && rest.sheet === true
  return (
    <Floating
      {...rest}
      {...useMenuKeys(covers)}
      className={styles.menu}
      role="menu"
      aria-orientation="vertical"
    >
      <CloseContext value={rest.onClose}>{children}</CloseContext>
    </Floating>
  )
}

/** Item is the frame of a menu item. The menu's keys click it. */
function Item({ className, ...rest }: ComponentPropsWithRef<'div'>) {
  return <div {...rest} className={cx(styles.item, className)} tabIndex={-1} />
}

interface MenuItemProps {
  icon?: ReactNode
  danger?: boolean
  disabled?: boolean
  onSelect: () => void
  children: ReactNode
}

/** A menu item with an action. */
export function MenuItem({ icon, danger = false, disabled = false, onSelect, children }: MenuItemProps) {
  const close = useContext(CloseContext)
  const choose = () => {
    if (disabled) return
    onSelect()
    close()
  }
  return (
    <Item
      className={danger ? styles.danger : undefined}
      role="menuitem"
      aria-disabled={disabled || undefined}
      onClick={choose}
    >
      {icon}
      {children}
    </Item>
  )
}

/** A page outside the app, which opens in a new tab. */
export function MenuLink({ icon, href, children }: { icon?: ReactNode; href: string; children: ReactNode }) {
  const close = useContext(CloseContext)
  return (
    <a
      className={styles.item}
      role="menuitem"
      tabIndex={-1}
      href={href}
      target="_blank"
      rel="noreferrer"
      onClick={close}
    >
      {icon}
      {children}
      <ExternalLink className={styles.check} size={14} aria-label="新しいタブで開きます" />
    </a>
  )
}

/** A radio item. The chosen one has a tick. */
export function MenuChoice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: T
  options: ReadonlyArray<{ value: T; label: string; note?: string; icon?: ReactNode }>
  onChange: (value: T) => void
}) {
  return (
    <div role="group" aria-label={label}>
      <div className={styles.label}>{label}</div>
      {options.map((option) => (
        <Item
          key={option.value}
          role="menuitemradio"
          aria-checked={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.icon}
          {option.note ? (
            <span className={styles.noted}>
              {option.label}
              <small>{option.note}</small>
            </span>
          ) : (
            option.label
          )}
          {option.value === value && <Check className={styles.check} size={16} aria-hidden />}
        </Item>
      ))}
    </div>
  )
}

/** MenuSwitch is a setting that is on or off. */
export function MenuSwitch({
  icon,
  label,
  on,
  onChange,
}: {
  icon: ReactNode
  label: string
  on: boolean
  onChange: (on: boolean) => void
}) {
  return (
    <Item role="menuitemcheckbox" aria-checked={on} onClick={() => onChange(!on)}>
      {icon}
      {label}
      {on && <Check className={styles.check} size={16} aria-hidden />}
    </Item>
  )
}

/** A separator. */
export function MenuSeparator() {
  return <div className={styles.separator} role="separator" />
}
