import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { MemoryRouter } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { saveToken } from '@/entities/identity/token'
import type { UserSession } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { SessionsPage } from './SessionsPage'

const session = (id: string, change: Partial<UserSession> = {}): UserSession => ({
  id,
  current: false,
  auth_type: 'cognito',
  device: 'Chrome（Windows）',
  address: '203.0.113.5',
  began_at: '2025-11-20T00:00:00Z',
  last_used_at: '2025-11-21T00:00:00Z',
  expires_at: '2026-12-20T00:00:00Z',
  ...change,
})

describe('the page of sessions', () => {
  let sessions: UserSession[]
  const asked: string[] = []

  beforeEach(() => {
    sessions = [
      session('a', { current: true }),
      session('b', { device: 'Safari（iPhone）' }),
      session('c', { device: '' }),
    ]
    asked.length = 0
    queryClient.clear()
    const tokens = { refreshToken: 'r', idToken: 'i', accessToken: 'a', expiresIn: 1, tokenType: 'Bearer' }
    saveToken({ authType: 'cognito', clientId: 'c', ...tokens })
    vi.stubGlobal(
      'fetch',
      vi.fn<typeof fetch>(async (input, init) => {
        const request = new Request(input, init)
        const { pathname } = new URL(request.url)
        asked.push(`${request.method} ${pathname}`)
        if (request.method === 'GET') return new Response(JSON.stringify({ items: sessions }))
        sessions = sessions.filter(
          ({ id, current }) => current || (pathname !== '/v1/session' && !pathname.endsWith(id)),
        )
        return new Response(null, { status: 204 })
      }),
    )
  })

  const show = async () => {
    render(
      <QueryClientProvider client={queryClient}>
        <MemoryRouter>
          <SessionsPage />
        </MemoryRouter>
      </QueryClientProvider>,
    )
    return (await screen.findAllByRole('listitem')) as HTMLElement[]
  }

  it('marks this device, and shows the known details of the other devices', async () => {
    const [here, phone, unknown] = (await show()) as [HTMLElement, HTMLElement, HTMLElement]
    expect(within(here).getByText('この端末')).toBeTruthy()
    expect(within(here).queryByRole('button')).toBeNull()
    expect(phone.textContent).toContain('Safari（iPhone）')
    expect(phone.textContent).toContain('接続元 203.0.113.5')
    expect(unknown.textContent).toContain('不明な端末')
  })

  it('ends one, and all others', async () => {
    const [, phone] = await show()
    await userEvent.click(within(phone as HTMLElement).getByRole('button', { name: /ログアウト/ }))
    await vi.waitFor(() => expect(screen.getAllByRole('listitem')).toHaveLength(2))
    await userEvent.click(screen.getByRole('button', { name: 'ほかのすべての端末からログアウト' }))
    await vi.waitFor(() => expect(screen.getAllByRole('listitem')).toHaveLength(1))
    expect(asked.filter((call) => call.startsWith('DELETE'))).toEqual([
      'DELETE /v1/session/b',
      'DELETE /v1/session',
    ])
    expect(screen.queryByRole('button', { name: /ほかのすべて/ })).toBeNull()
  })
})
