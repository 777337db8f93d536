import { afterEach, describe, expect, it, vi } from 'vitest'
import { takeEarly } from './early'

const asked = (path: string, init?: RequestInit) => new Request(`http://localhost:3000${path}`, init)

describe('what was asked for before the app ran', () => {
  const answer = Promise.resolve(new Response())
  const begin = () => {
    window.tsumugiEarly = { token: 'i', answers: new Map([['/v1/thread?offset=0&limit=20', answer]]) }
  }
  afterEach(() => {
    delete window.tsumugiEarly
  })

  it('is taken over once', () => {
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20'), 'i')).toBeUndefined()
    begin()
    expect(takeEarly(asked('/v1/thread?offset=0&limit=100'), 'i')).toBeUndefined()
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20'), 'i')).toBe(answer)
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20'), 'i')).toBeUndefined()
  })

  it.each(['other', undefined])('is nobody else’s, and is dropped then (%s)', (token) => {
    begin()
    expect(takeEarly(asked('/v1/me'), token)).toBeUndefined()
    expect(window.tsumugiEarly).toBeUndefined()
  })

  it('is no answer to what changes something', () => {
    begin()
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20', { method: 'POST' }), 'i')).toBeUndefined()
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20'), 'i')).toBe(answer)
  })

  it('is too old after half a minute', () => {
    begin()
    const now = vi.spyOn(performance, 'now').mockReturnValue(30_001)
    expect(takeEarly(asked('/v1/thread?offset=0&limit=20'), 'i')).toBeUndefined()
    expect(window.tsumugiEarly).toBeUndefined()
    now.mockRestore()
  })
})
