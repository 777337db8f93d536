import { useEffect, useState } from 'react'

/** useCountdown returns the remaining seconds of a pause, and the function that starts it. */
export function useCountdown(seconds: number, running: boolean): [left: number, begin: () => void] {
  const [until, setUntil] = useState(() => (running ? Date.now() + seconds * 1000 : 0))
  const [now, setNow] = useState(() => Date.now())

  useEffect(() => {
    if (until <= Date.now()) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= until) clearInterval(timer)
    }, 1000)
    return () => clearInterval(timer)
  }, [until])

  const begin = () => {
    setNow(Date.now())
    setUntil(Date.now() + seconds * 1000)
  }
  return [Math.max(0, Math.ceil((until - now) / 1000)), begin]
}
