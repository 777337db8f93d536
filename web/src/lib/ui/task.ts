import { useRef, useState } from 'react'

/** useTask runs one task at a time, and reports whether one is running. A call during a task has no effect. */
export function useTask() {
  const [busy, setBusy] = useState(false)
  const running = useRef(false)
  const run = async (task: () => Promise<void>, onFailure: (cause: unknown) => void): Promise<void> => {
    if (running.current) return
    running.current = true
    setBusy(true)
    try {
      await task()
    } catch (cause) {
      onFailure(cause)
    } finally {
      running.current = false
      setBusy(false)
    }
  }
  return { busy, run }
}
