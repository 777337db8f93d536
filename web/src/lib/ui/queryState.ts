import { useEffect, useRef } from 'react'
import { useSearchParams } from 'react-router'

/**
 * useQueryState returns the query of the URL, and its setter. Unlike the router's own setter, it starts from changes
 * that are not rendered yet, so that a quick second change does not undo the first.
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

/** Sets values; '' removes one. */
export function setValues(params: URLSearchParams, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value) params.set(name, value)
    else params.delete(name)
  }
}
