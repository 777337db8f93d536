import { useRef } from 'react'

/**
 * useRequestId returns a function for the id of a request. It returns the previous id if the body is the same, otherwise a
 * new one.
 */
export function useRequestId(): (body: unknown) => string {
  const last = useRef({ of: '', id: '' })
  return (body) => {
    const of = JSON.stringify(body)
    if (last.current.of !== of) last.current = { of, id: crypto.randomUUID() }
    return last.current.id
  }
}
