import { beforeEach, describe, expect, it } from 'vitest'
import { expiryOf, subjectOf } from '@/lib/api/jwt'
import { clearToken, readToken, refreshStoredToken, saveToken, TOKEN_KEY } from './token'

const record = {
  authType: 'cognito' as const,
  clientId: 'client',
  refreshToken: 'refresh',
  idToken: 'id',
  accessToken: 'access',
  expiresIn: 3600,
  tokenType: 'Bearer',
}

const jwt = (claims: object) =>
  `e30.${btoa(JSON.stringify(claims)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}.s`

describe('the stored token record', () => {
  beforeEach(() => localStorage.clear())

  it('is kept as JSON under one key', () => {
    saveToken(record)
    expect(TOKEN_KEY).toBe('tsumugiToken')
    expect(JSON.parse(localStorage.getItem('tsumugiToken') ?? '')).toEqual(record)
    expect(readToken()).toEqual(record)
  })

  it('is null if absent', () => {
    expect(readToken()).toBeNull()
  })

  it.each(['', '{', 'null', '[]', '{"authType":"other"}', '{"authType":"cognito"}'])(
    'gives nothing for %j',
    (text) => {
      localStorage.setItem(TOKEN_KEY, text)
      expect(readToken()).toBeNull()
    },
  )

  it('takes refreshed tokens and keeps the other values', () => {
    saveToken(record)
    const next = { idToken: 'id2', accessToken: 'access2', expiresIn: 60, tokenType: 'Bearer' }
    expect(refreshStoredToken(next)).toEqual({ ...record, ...next })
    expect(readToken()).toEqual({ ...record, ...next })
  })

  it('cannot be refreshed if absent', () => {
    expect(() => refreshStoredToken(record)).toThrow(
      'cannot refresh local storage Token: not found in localstorage',
    )
    expect(readToken()).toBeNull()
  })

  it('is removed completely', () => {
    saveToken(record)
    clearToken()
    expect(localStorage.length).toBe(0)
  })
})

describe('the claims of a token', () => {
  it('are read without verification', () => {
    expect(subjectOf(jwt({ sub: 'u-1' }))).toBe('u-1')
    expect(expiryOf(jwt({ exp: 10 }))).toBe(10_000)
  })

  it.each(['', 'a', 'a.b.c', 'a.%.c'])('are empty for %j', (text) => {
    expect(subjectOf(text)).toBe('')
    expect(expiryOf(text)).toBe(0)
  })
})
