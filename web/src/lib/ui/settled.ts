import { useEffect, useState } from 'react'

/** How long typing must pause before the server is asked, in milliseconds. */
const PAUSE_MS = 150

/** What is typed, once typing has paused. An emptied field counts at once. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), value === '' ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
