import { useRef, useState } from 'react'
import { useTask } from './task'

/**
 * useInputs is the common behaviour of forms whose inputs hold their own values. It makes one call at a time. It shows an
 * error under its field and focuses the field.
 */
export function useInputs<Name extends string>() {
  const [errors, setErrors] = useState<Partial<Record<Name, string>>>({})
  const { busy, run } = useTask()
  const inputs = useRef<Partial<Record<Name, HTMLInputElement | null>>>({})

  const clear = () => setErrors({})
  const fail = (name: Name, message: string) => {
    setErrors({ [name]: message } as Partial<Record<Name, string>>)
    inputs.current[name]?.focus()
  }

  return {
    busy,
    fail,
    clear,
    /** The props of a field. A change removes the errors. */
    field: (name: Name) => ({
      error: errors[name],
      onChange: clear,
      ref: (input: HTMLInputElement | null) => {
        inputs.current[name] = input
      },
    }),
    /** The value of a field. */
    value: (name: Name) => inputs.current[name]?.value ?? '',
    /** Submits the form unless a submission is in progress. `explain` returns the field and the message of an error. */
    run: (work: () => Promise<void>, explain: (cause: unknown) => [field: Name, message: string]) =>
      run(work, (cause) => fail(...explain(cause))),
  }
}
