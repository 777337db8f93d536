import { useRef, useState } from 'react'
import { useTask } from '@/lib/ui/task'

/**
 * useLoginForm is the common behaviour of the login forms. It makes one call at a time. It shows an error under its field
 * and focuses the field.
 */
export function useLoginForm<Name extends string>() {
  const [errors, setErrors] = useState<Partial<Record<Name, string>>>({})
  const { busy, run } = useTask()
  const inputs = useRef<Partial<Record<Name, HTMLInputElement | null>>>({})

  const fail = (name: Name, message: string) => {
    setErrors({ [name]: message } as Partial<Record<Name, string>>)
    inputs.current[name]?.focus()
  }

  return {
    busy,
    fail,
    clear: () => setErrors({}),
    /** The props of a field. */
    field: (name: Name) => ({
      error: errors[name],
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
