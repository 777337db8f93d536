import type { LoaderFunctionArgs } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { saveToken } from '@/entities/identity/token'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import { dismissToast, toastsAtom } from '@/lib/ui/toast'
import { adminOnly, signedIn, signingIn } from './guard'
import { rememberedPlace } from './place'

const args = (path: string) =>
  ({ request: new Request(`http://localhost:3000${path}`), params: {} }) as unknown as LoaderFunctionArgs

const outcome = async (run: () => unknown) => {
  try {
    return await run()
  } catch (thrown) {
    if (thrown instanceof Response) return `→ ${thrown.headers.get('Location')}`
    throw thrown
  }
}

describe('the guards', () => {
  const server = vi.fn<typeof fetch>()

  beforeEach(() => {
    localStorage.clear()
    sessionStorage.clear()
    queryClient.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
  })

  const signInAs = (role: string) => {
    const tokens = { refreshToken: 'r', idToken: 'i', accessToken: 'a', expiresIn: 1, tokenType: 'Bearer' }
    saveToken({ authType: 'cognito', clientId: 'c', ...tokens })
    server.mockImplementation(async () => new Response(JSON.stringify({ role })))
  }

  it('send a visitor without a token to /login, and back to the page afterwards', async () => {
    const loader = vi.fn()
    expect(await outcome(() => signedIn(loader)(args('/home/skill?q=a'), {}))).toBe('→ /login')
    expect(loader).not.toHaveBeenCalled()
    expect(server).not.toHaveBeenCalled()
    expect(rememberedPlace()).toBe('/home/skill?q=a')
  })

  it('load the current user first, once for all loaders', async () => {
    signInAs('general-user')
    const loader = vi.fn(() => {
      expect(server).toHaveBeenCalledTimes(1)
      return 'loaded'
    })
    const guarded = signedIn(loader)
    const results = await Promise.all([guarded(args('/home'), {}), guarded(args('/home'), {})])
    expect(results).toEqual(['loaded', 'loaded'])
    expect(server).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['general-user', '→ /home/skill'],
    ['system-admin', '→ /home/skill'],
    ['organization-admin', null],
    ['organization-super-admin', null],
  ])('admit %s to the admin screens: %s', async (role, expected) => {
    signInAs(role)
    for (const { id } of store.get(toastsAtom)) dismissToast(id)
    const run = () => outcome(() => adminOnly()(args('/admin/contract'), {}))
    // The loaders of nested routes run concurrently.
    expect(await Promise.all([run(), run()])).toEqual([expected, expected])
    const told = store.get(toastsAtom).map((item) => item.message)
    expect(told).toEqual(expected === null ? [] : [expect.stringContaining('管理者画面を表示する権限')])
  })

  describe('for the sign-in pages', () => {
    const idToken = `e30.${btoa(JSON.stringify({ email: 'hanako@demo.example' }))}.s`
    const record = {
      authType: 'cognito' as const,
      clientId: 'c',
      refreshToken: 'r',
      idToken,
      accessToken: 'a',
    }
    const signIn = () => saveToken({ ...record, expiresIn: 1, tokenType: 'Bearer' })

    it('store the target of ?next= if it is a page of the app', async () => {
      expect(await outcome(() => signingIn(args('/login?next=%2Fhome%2Fdata-source')))).toBeNull()
      expect(rememberedPlace()).toBe('/home/data-source')
      await outcome(() => signingIn(args('/login?next=%2F%2Fevil.example%2Fhome')))
      expect(rememberedPlace()).toBe('/home/data-source')
    })

    it.each([
      ['/login', '/home'],
      ['/login?next=%2Fadmin%2Fsaml', '/admin/saml'],
      ['/login?next=https%3A%2F%2Fevil.example', '/home'],
      ['/login?email=Hanako%40demo.example', '/home'],
    ])('redirect from %s to %s for a signed-in user', async (path, expected) => {
      signIn()
      const response = signingIn(args(path))
      expect(response?.headers.get('Location')).toBe(expected)
    })

    it('admit an invitation for another user', () => {
      signIn()
      expect(signingIn(args('/login?email=jiro%40demo.example'))).toBeNull()
    })
  })
})
