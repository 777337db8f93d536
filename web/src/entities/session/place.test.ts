import { beforeEach, describe, expect, it } from 'vitest'
import {
  forgetPlace,
  hideQuery,
  localPath,
  rememberEndReason,
  rememberedEndReason,
  rememberedPlace,
  rememberPlace,
} from './place'

describe('R56: the target of a sign-in', () => {
  it.each([
    ['/home', '/home'],
    ['/home/skill/1/chat/2?q=a&b=%2F%2Fx', '/home/skill/1/chat/2?q=a&b=%2F%2Fx'],
    ['/admin/saml?test=1', '/admin/saml?test=1'],
    ['/chat/1', '/chat/1'],
    ['/share/1', '/share/1'],
    ['/home/../admin', '/admin'],
    ['/home/skill#part', '/home/skill'],
  ])('%j is a page of the app', (text, path) => {
    expect(localPath(text)).toBe(path)
  })

  it.each([
    null,
    undefined,
    '',
    'home',
    '/',
    '/login',
    '/homes',
    '/logout/success',
    '/oauth2/callback?code=1',
    '/v1/oauth2/authorize',
    '//evil.example/home',
    '///evil.example/home',
    '/\\evil.example/home',
    '\\\\evil.example/home',
    '/home\\..\\..\\evil',
    '/\t/evil.example/home',
    '/\n/evil.example/home',
    '\t//evil.example/home',
    '/home\r\nSet-Cookie: a=b',
    '/home\u0000',
    ' /home',
    '/home ',
    '/home/..//evil.example',
    '/home/%2e%2e//evil.example',
    'https://evil.example/home',
    'http:evil.example/home',
    'https:/home',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)//home',
    'data:text/html,home',
    '@evil.example/home',
    ':@evil.example/home',
    '?next=/home',
    '#/home',
  ])('%j is not a page of the app', (text) => {
    expect(localPath(text)).toBeNull()
  })

  it('is kept in this tab until a session begins or ends', () => {
    sessionStorage.clear()
    expect(rememberedPlace()).toBeNull()
    rememberPlace('/home/skill/1?q=a')
    rememberPlace('//evil.example/home')
    rememberPlace('/login')
    expect(rememberedPlace()).toBe('/home/skill/1?q=a')
    rememberEndReason('sso_required')
    forgetPlace()
    expect([rememberedPlace(), rememberedEndReason()]).toEqual([null, null])
  })

  it('is null if the stored values are invalid', () => {
    sessionStorage.setItem('tsumugiReturnTo', '//evil.example/home')
    sessionStorage.setItem('tsumugiEnded', '<b>')
    expect([rememberedPlace(), rememberedEndReason()]).toEqual([null, null])
  })
})

describe('the query of an external link', () => {
  beforeEach(() => window.history.replaceState({ idx: 3 }, '', '/reset/password?email=a%40b&code=123456'))

  it('is removed from the address bar, and the history keeps its length', () => {
    hideQuery(new Request(location.href))
    expect(location.pathname + location.search).toBe('/reset/password')
    expect(window.history.state).toEqual({ idx: 3 })
  })

  it('is kept while the browser is still on another page', () => {
    hideQuery(new Request(`${location.origin}/reset/password?email=c%40d`))
    expect(location.search).toBe('?email=a%40b&code=123456')
  })
})
