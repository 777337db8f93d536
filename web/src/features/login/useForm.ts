import { useRef, useState } from 'react'

/** What the forms here share: one call at a time, and what fails stands under its field, which gets the focus. */
export function useForm<Name extends string>() {
  const [errors, setErrors] = useState<Partial<Record<Name, string>>>({})
  const [busy, setBusy] = useState(false)
  const inputs = useRef<Partial<Record<Name, HTMLInputElement | null>>>({})

  const fail = (name: Name, message: string) => {
    setErrors({ [name]: message } as Partial<Record<Name, string>>)
    inputs.current[name]?.focus()
  }

  return {
    busy,
    fail,
    clear: () => setErrors({}),
    /** What a field of the form is given. */
    field: (name: Name) => ({
      error: errors[name],
      ref: (input: HTMLInputElement | null) => {
        inputs.current[name] = input
      },
    }),
    /** What has been entered in a field. */
    value: (name: Name) => inputs.current[name]?.value ?? '',
    /** Does the form's work unless it is under way; `explain` tells which field a failure belongs to, and in what words. */
    run: async (work: () => Promise<void>, explain: (cause: unknown) => [field: Name, message: string]) => {
      if (busy) return
      setBusy(true)
      try {
        await work()
      } catch (cause) {
        fail(...explain(cause))
      } finally {
        setBusy(false)
      }
    },
  }
}
