import { type FormEvent, useEffect, useRef, useState } from 'react'

/** FormErrors are the error messages of a form by field. */
export type FormErrors<Values> = { -readonly [Name in keyof Values]?: string | undefined }

interface FormOptions<Values> {
  readonly initial: () => Values
  /** Returns the errors that are found before sending. */
  readonly check: (values: Values) => FormErrors<Values>
  /** Sends the values and leaves the form. */
  readonly send: (values: Values) => Promise<void>
  /** Returns the errors of a failed call by field. `rest` is the message that no field shows. */
  readonly explain: (cause: unknown, values: Values) => { errors: FormErrors<Values>; rest: string }
}

/**
 * useForm holds the values of a form with the errors of its fields. It submits once at a time, and focuses the first
 * invalid field. A change of a field removes its error.
 */
export function useForm<Values extends object>({ initial, check, send, explain }: FormOptions<Values>) {
  const [values, setValues] = useState(initial)
  const [errors, setErrors] = useState<FormErrors<Values>>({})
  const [rest, setRest] = useState('')
  const [busy, setBusy] = useState(false)
  const [failures, setFailures] = useState(0)
  const ref = useRef<HTMLFormElement>(null)

  // After rendering, so that the fields show their errors.
  useEffect(() => {
    if (failures > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failures])

  const fail = (next: FormErrors<Values>, other = '') => {
    setErrors(next)
    setRest(other)
    setBusy(false)
    setFailures(failures + 1)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const wrong = check(values)
    if (Object.keys(wrong).length > 0) return fail(wrong)
    setBusy(true)
    try {
      await send(values)
    } catch (cause) {
      const { errors: fields, rest: other } = explain(cause, values)
      fail(fields, other)
    }
  }
  const change = (next: Partial<Values>) => {
    setValues({ ...values, ...next })
    const corrected = Object.fromEntries(Object.keys(next).map((name) => [name, undefined]))
    setErrors({ ...errors, ...(corrected as FormErrors<Values>) })
    setRest('')
  }
  const form = { ref, noValidate: true, onSubmit: (event: FormEvent) => void submit(event) }
  return { values, errors, rest, busy, change, form }
}

/** Fields are the values of a form with their errors. */
export interface Fields<Values> {
  readonly values: Values
  readonly errors: FormErrors<Values>
  readonly onChange: (next: Partial<Values>) => void
}

/** fieldOf returns the properties of the field that edits a text of a form. */
export function fieldOf<Values, Name extends keyof Values & string>(fields: Fields<Values>, name: Name) {
  const { values, errors, onChange } = fields
  return {
    value: values[name],
    error: errors[name],
    onChange: ({ target }: { target: { value: string } }) =>
      onChange({ [name]: target.value } as unknown as Partial<Values>),
  }
}
