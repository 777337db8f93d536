import { describe, expect, it } from 'vitest'
import { cut } from './limits'
import { refusalOf } from './pages'
import { toOrigin } from './server'
import { challengeOf, randomText } from './signIn'
import { addressOf } from './storedConversations'

describe('toOrigin', () => {
  it.each([
    ['tsumugi.example.jp', 'https://tsumugi.example.jp'],
    [' https://tsumugi.example.jp/home?x=1 ', 'https://tsumugi.example.jp'],
    ['localhost:8080', 'http://localhost:8080'],
    ['127.0.0.1:8080/login', 'http://127.0.0.1:8080'],
    ['http://intra:8080', 'http://intra:8080'],
    ['ftp://example.jp', null],
    ['https://user:secret@example.jp', null],
    ['javascript:alert(1)', null],
    ['', null],
  ])('%s', (typed, origin) => expect(toOrigin(typed)).toBe(origin))
})

describe('refusalOf', () => {
  it.each([
    ['https://example.jp/', null],
    ['http://intra/', null],
    ['chrome://settings/', 'browserPage'],
    ['about:blank', 'browserPage'],
    ['chrome-extension://abc/panel.html', 'browserPage'],
    ['https://chromewebstore.google.com/detail/x', 'storePage'],
    ['https://chrome.google.com/webstore/detail/x', 'storePage'],
    ['file:///C:/report.pdf', 'filePage'],
    ['data:text/html,x', 'otherPage'],
  ])('%s', (url, reason) => expect(refusalOf({ url, used: true })).toBe(reason))

  it('asks for the button once, and then shows the reason', () => {
    expect(refusalOf({ url: '', used: false })).toBe('noAccess')
    expect(refusalOf({ url: '', used: true })).toBe('closedPage')
  })
})

describe('cut', () => {
  it('counts whole characters, and reports the number of omitted ones', () => {
    expect(cut('𠮷野家𠮷', 3)).toEqual({ text: '𠮷野家', characters: 3, left: 1 })
    expect(cut('短い', 3)).toEqual({ text: '短い', characters: 2, left: 0 })
  })
})

describe('PKCE', () => {
  it('creates the challenge of RFC 7636, appendix B', async () => {
    expect(await challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    )
    expect(randomText(32)).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })
})

it('finds a conversation by its page, for any fragment', () => {
  expect(addressOf('https://example.jp/a?b#c')).toBe('https://example.jp/a?b')
})
