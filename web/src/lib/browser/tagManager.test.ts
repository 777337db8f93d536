import { describe, expect, it, vi } from 'vitest'
import { startTagManager } from './tagManager'

/** A router with a location. */
function router(search: string) {
  const listeners = new Set<(place: { location: { search: string } }) => void>()
  return {
    state: { location: { search } },
    subscribe(listener: (place: { location: { search: string } }) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    go(next: string) {
      for (const listener of [...listeners]) listener({ location: { search: next } })
    },
  }
}

/** Counts loads without loading anything. */
const loads = () => vi.spyOn(document.head, 'append').mockImplementation(() => {})

describe('the tag manager', () => {
  it('is started once if configured', () => {
    const loaded = loads()
    const places = router('?q=1')
    startTagManager('GTM-ABC123', places)
    places.go('')
    expect(loaded).toHaveBeenCalledOnce()
  })

  it.each([undefined, ''])('is not started with the id %j', (id) => {
    const loaded = loads()
    startTagManager(id, router(''))
    expect(loaded).not.toHaveBeenCalled()
  })

  it('never sees a URL with a code', () => {
    const loaded = loads()
    const places = router('?email=a%40example.jp&code=123456')
    startTagManager('GTM-ABC123', places)
    places.go('?code=654321')
    expect(loaded).not.toHaveBeenCalled()
    places.go('')
    expect(loaded).toHaveBeenCalledOnce()
  })
})
