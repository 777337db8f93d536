import { useRef } from 'react'

/** Returns a function for the request id of a body. A repeated body has the same id; a changed one is another request. */
export function useRequestId(): (body: unknown) => string {
  const last = useRef({ of: '', id: '' })
  return (body) => {
    const of = JSON.stringify(body)
    if (last.current.of !== of) last.current = { of, id: crypto.randomUUID() }
    return last.current.id
  }
}
