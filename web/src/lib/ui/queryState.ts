import { useEffect, useRef } from 'react'
import { useSearchParams } from 'react-router'

/**
 * The part of the address after the question mark, and how to change it. What has been set and is not drawn yet counts: the
 * router's own function begins from what is drawn, and a quick second change would undo the first.
 */
export function useQueryState(): readonly [
  params: URLSearchParams,
  change: (edit: (next: URLSearchParams) => void) => void,
] {
  const [params, setParams] = useSearchParams()
  const latest = useRef(params)
  useEffect(() => {
    latest.current = params
  }, [params])
  const change = (edit: (next: URLSearchParams) => void) => {
    const next = new URLSearchParams(latest.current)
    edit(next)
    latest.current = next
    setParams(next, { replace: true, preventScrollReset: true })
  }
  return [params, change]
}

/** Sets values; '' takes one away. */
export function setValues(params: URLSearchParams, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value) params.set(name, value)
    else params.delete(name)
  }
}
