import { useEffect, useState } from 'react'

/** The pause in typing before the server is queried, in milliseconds. */
const PAUSE_MS = 150

/** useDebounced returns the typed text after a pause in typing. It returns an emptied field at once. */
export function useDebounced(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), value === '' ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
