import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { MemoryRouter } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { queryClient } from '@/lib/api/queries'
import { Favorites } from './Favorites'

const favorites = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `s${at}`, name: `スキル${at}`, icon_path: '/i.svg' }))

describe('the favourites', () => {
  const server = vi.fn<typeof fetch>()
  const reply = (status: number, body: unknown) =>
    server.mockResolvedValueOnce(new Response(JSON.stringify(body), { status }))

  beforeEach(() => {
    queryClient.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
    vi.stubGlobal(
      'IntersectionObserver',
      class {
        observe() {}
        disconnect() {}
      },
    )
  })

  const open = async () => {
    render(
      <MemoryRouter>
        <Favorites compact={false} />
      </MemoryRouter>,
    )
    await userEvent.click(screen.getByRole('button', { name: 'お気に入り' }))
  }

  it('explain how to add a favourite if there are none', async () => {
    reply(200, { items: [] })
    await open()
    expect(await screen.findByText('お気に入り済みのスキルはありません。')).toBeTruthy()
    expect(screen.getByText('スキルの星を押すと、ここに追加されます。')).toBeTruthy()
  })

  it('link to their skills, ten per page', async () => {
    reply(200, { items: favorites(3) })
    await open()
    const link = await screen.findByRole('link', { name: 'スキル1' })
    expect(link.getAttribute('href')).toBe('/home/skill/s1')
    const [request] = server.mock.calls[0] ?? []
    expect(new URL(new Request(request ?? '').url).search).toBe('?offset=0&limit=10')
  })

  it('show a loading error, and load again', async () => {
    // A failed load is retried twice.
    for (let tries = 0; tries < 3; tries++) reply(500, { detail: 'x', code: 'internal' })
    await open()
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain('読み込みに失敗しました')
    reply(200, { items: favorites(1) })
    await userEvent.click(within(alert).getByRole('button', { name: 'やり直す' }))
    expect(await screen.findByRole('link', { name: 'スキル0' })).toBeTruthy()
  })
})
