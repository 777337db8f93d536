import { ChevronDown, CircleAlert, Eye, EyeOff } from 'lucide-react'
import { type ComponentPropsWithRef, type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { cx } from '@/lib/ui/cx'
import { ime } from '@/lib/ui/ime'
import styles from './Field.module.css'
import { IconButton } from './IconButton'

/** The common parts of a field: a label above, a hint, and its error below, as text with an icon. */
interface FieldProps {
  label: string
  hint?: ReactNode | undefined
  error?: string | undefined
  /** Hides the label visually if it is obvious; screen readers still read it. */
  hideLabel?: boolean | undefined
  /** Shows 任意, or the given text, next to the label. All other fields are required. */
  optional?: boolean | string | undefined
}

interface Ids {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

/** The frame of a field, for controls other than those in this file. */
export function Field({
  label,
  hint,
  error,
  hideLabel,
  optional,
  children,
}: FieldProps & { children: (ids: Ids) => ReactNode }) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className={styles.field}>
      <label className={cx(styles.label, hideLabel && 'visually-hidden')} htmlFor={id}>
        {label}
        {optional && <span className={styles.required}>{optional === true ? '任意' : optional}</span>}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {hint && (
        <div className={styles.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      <div role="alert">{error && <FieldErrorText id={`${id}-error`}>{error}</FieldErrorText>}</div>
    </div>
  )
}

/** An error message with its icon. */
export function FieldErrorText({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <p className={styles.error} id={id}>
      <CircleAlert size={14} aria-hidden />
      <span>{children}</span>
    </p>
  )
}

/** fieldProps separates the properties of a field from those of its control. */
function fieldProps<T extends FieldProps>({ label, hint, error, hideLabel, optional, ...control }: T) {
  return { field: { label, hint, error, hideLabel, optional }, control }
}

/** A single-line field. */
export function TextField({ className, onKeyDown, ...rest }: FieldProps & ComponentPropsWithRef<'input'>) {
  const { field, control } = fieldProps(rest)
  return (
    <Field {...field}>
      {(ids) => (
        <input
          type="text"
          {...control}
          {...ids}
          className={cx(styles.control, className)}
          onKeyDown={(event) => {
            keepConversion(event)
            onKeyDown?.(event)
          }}
        />
      )}
    </Field>
  )
}

/** A password field, with a button to show the password. */
export function PasswordField({
  className,
  ...rest
}: FieldProps & Omit<ComponentPropsWithRef<'input'>, 'type'>) {
  const { field, control } = fieldProps(rest)
  const [shown, setShown] = useState(false)
  return (
    <Field {...field}>
      {(ids) => (
        <div className={styles.withButton}>
          <input
            autoCapitalize="off"
            autoCorrect="off"
            spellCheck={false}
            {...control}
            {...ids}
            type={shown ? 'text' : 'password'}
            className={cx(styles.control, className)}
          />
          <IconButton
            label={shown ? 'パスワードを隠す' : 'パスワードを表示'}
            onClick={() => setShown(!shown)}
          >
            {shown ? <EyeOff size={18} /> : <Eye size={18} strokeWidth={1.5} />}
          </IconButton>
        </div>
      )}
    </Field>
  )
}

/** A multi-line field that grows with its text. */
export function TextArea({ className, ...rest }: FieldProps & ComponentPropsWithRef<'textarea'>) {
  const { field, control } = fieldProps(rest)
  return (
    <Field {...field}>
      {(ids) => <textarea {...control} {...ids} className={cx(styles.control, className)} />}
    </Field>
  )
}

interface Options {
  /** The value and the name of each option. These options follow the children. */
  options?: readonly (readonly [value: string | number, name: string])[] | undefined
}

/** The browser's own select, which works best on phones. */
export function Select({
  className,
  options,
  children,
  ...rest
}: FieldProps & Options & ComponentPropsWithRef<'select'>) {
  const { field, control } = fieldProps(rest)
  return (
    <Field {...field}>
      {(ids) => (
        <div className={styles.selectBox}>
          <select {...control} {...ids} className={cx(styles.control, className)}>
            {children}
            {options?.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
          <ChevronDown size={16} aria-hidden />
        </div>
      )}
    </Field>
  )
}

// keepConversion prevents the Enter that ends a conversion from submitting the form. Safari reports it as a plain
// Enter.
function keepConversion(event: KeyboardEvent): void {
  if (event.key === 'Enter' && ime.isComposing(event)) event.preventDefault()
}
