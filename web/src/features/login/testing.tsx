import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render } from '@testing-library/react'
import type { ComponentType } from 'react'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { vi } from 'vitest'
import { configQuery, queryClient } from '@/lib/api/queries'

/** way returns a response of POST /v1/auth-type. */
export const way = (auth_type: string) => ({
  auth_type,
  client_id: 'client',
  organization_id: 'org',
  endpoint: 'http://localhost:3000/pool',
  region: 'ap-northeast-1',
})

/** Response of InitiateAuth to a correct password. */
export const tokens = {
  AuthenticationResult: {
    IdToken: 'i',
    AccessToken: 'a',
    ExpiresIn: 3600,
    TokenType: 'Bearer',
    RefreshToken: 'r',
  },
}

/** refusal returns an error response of the identity provider. */
export const refusal = (name: string, message = '') => [400, { __type: name, message }] as const

/** stubServer returns a server that sends the given responses in order, and records the requests. */
export function stubServer() {
  const replies: Array<readonly [status: number, body: unknown]> = []
  const asked: Array<{ operation: string; body: Record<string, unknown> }> = []
  const server = vi.fn<typeof fetch>(async (input, init) => {
    const request = new Request(
      input instanceof Request ? input : new URL(String(input), location.origin),
      init,
    )
    const text = await request.clone().text()
    const operation = request.headers.get('X-Amz-Target')?.split('.')[1] ?? new URL(request.url).pathname
    asked.push({ operation, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) })
    const [status, body] = replies.shift() ?? [500, {}]
    return new Response(JSON.stringify(body), { status })
  })
  localStorage.clear()
  sessionStorage.clear()
  vi.stubGlobal('fetch', server)
  return { replies, asked, server, operations: () => asked.map(({ operation }) => operation) }
}

/** show renders a page at a path. Every other path renders its name. */
export function show(path: string, Component: ComponentType, state?: unknown) {
  const [pathname = '', search = ''] = path.split('?')
  const router = createMemoryRouter(
    [
      { path: pathname, Component },
      { path: '/home/*', element: <p>ホーム</p> },
      { path: '*', element: <p>ほかのページ</p> },
    ],
    { initialEntries: [{ pathname, search: search && `?${search}`, state }] },
  )
  queryClient.setQueryData(configQuery.queryKey, { brand: 'Tsumugi', links: {}, model_connected: true })
  render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
  return router
}

/** tidy cleans up after a test. */
export function tidy() {
  cleanup()
  vi.unstubAllGlobals()
}
