import { useEffect, useState } from 'react'

/** useBrief returns a value that is undefined again two seconds after it was set. */
export function useBrief<T>(): [T | undefined, (value: T) => void] {
  const [shown, setShown] = useState<{ readonly value: T }>()
  useEffect(() => {
    if (shown === undefined) return
    const timer = setTimeout(() => setShown(undefined), 2000)
    return () => clearTimeout(timer)
  }, [shown])
  return [shown?.value, (value) => setShown({ value })]
}
