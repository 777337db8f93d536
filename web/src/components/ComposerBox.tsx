import { ArrowUp, ChevronDown, Square } from 'lucide-react'
import { type ComponentPropsWithRef, type ReactNode, useLayoutEffect, useRef } from 'react'
import { cx } from '@/lib/ui/cx'
import styles from './ComposerBox.module.css'
import { IconButton, type IconButtonProps } from './IconButton'

interface ComposerBoxProps extends Omit<ComponentPropsWithRef<'textarea'>, 'className' | 'ref' | 'value'> {
  readonly value: string
  /** Whether the text is too long. */
  readonly over: boolean
  /** The files and pictures above the text. */
  readonly attachments?: ReactNode
  /** The buttons at the left and at the right of the row below the text. */
  readonly tools?: ReactNode
  readonly actions: ReactNode
}

/** ComposerBox is the field for a question: the text over the full width, and a row of buttons below it. */
export function ComposerBox({ over, attachments, tools, actions, ...rest }: ComposerBoxProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  useGrow(field, rest.value)
  return (
    <div className={cx(styles.box, over && styles.over)}>
      {attachments}
      <textarea ref={field} className={styles.field} rows={1} aria-invalid={over || undefined} {...rest} />
      <div className={styles.row}>
        <div className={styles.tools}>{tools}</div>
        <div className={styles.tools}>{actions}</div>
      </div>
    </div>
  )
}

interface ComposerToolProps extends ComponentPropsWithRef<'button'> {
  /** On a phone, a tool with an icon has no visible text. */
  readonly icon?: ReactNode
}

/** ComposerTool is a button with a text in the row below the question. */
export function ComposerTool({ icon, children, ...rest }: ComposerToolProps) {
  return (
    <button type="button" {...rest} className={styles.tool} data-icon={icon ? true : undefined}>
      {icon}
      <span>{children}</span>
      {rest['aria-haspopup'] === 'menu' && <ChevronDown size={14} aria-hidden />}
    </button>
  )
}

type ActionProps = Omit<IconButtonProps, 'children' | 'className' | 'side'>

/** SendButton sends the question. */
export function SendButton(props: ActionProps) {
  return (
    <IconButton {...props} className={styles.send} type="submit" side="top">
      <ArrowUp size={18} strokeWidth={2} />
    </IconButton>
  )
}

/** StopButton stops the answer. */
export function StopButton(props: ActionProps) {
  return (
    <IconButton {...props} className={styles.stop} side="top">
      <Square size={14} fill="currentColor" />
    </IconButton>
  )
}

/** useGrow sets the field's height in browsers without `field-sizing`. */
function useGrow(field: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const element = field.current
    if (element === null || CSS.supports('field-sizing', 'content')) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [field, text])
}
