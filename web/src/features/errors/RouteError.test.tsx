import { cleanup, render, screen } from '@testing-library/react'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '@/lib/api'
import { RouteError } from './RouteError'

describe('a route that fails', () => {
  beforeEach(() => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.spyOn(window, 'fetch').mockImplementation(async () => new Response())
  })
  afterEach(() => {
    cleanup()
    vi.useRealTimers()
  })

  const show = async (error: unknown) => {
    const loader = () => {
      throw error
    }
    const router = createMemoryRouter([
      { path: '/', loader, element: <p>ページ</p>, errorElement: <RouteError /> },
    ])
    render(<RouterProvider router={router} />)
    await vi.waitFor(() => expect(router.state.initialized).toBe(true))
  }

  it.each([
    [new ApiError(403, {}), 'このページを表示する権限がありません'],
    [new ApiError(404, {}), 'ページが見つかりません'],
    [new ApiError(400, { code: 'invalid' }), 'ページが見つかりません'],
    [new Response(null, { status: 404 }), 'ページが見つかりません'],
    [new ApiError(0, {}), 'サーバーに接続できません'],
    [new ApiError(500, {}), '問題が発生しました'],
    [new Error('bug'), '問題が発生しました'],
  ])('shows the page for %s', async (error, title) => {
    await show(error)
    await screen.findByRole('heading', { name: title })
  })

  it.each([
    new TypeError('Failed to fetch dynamically imported module: /assets/x.js'),
    new Error('Unable to preload CSS for /assets/x.css'),
  ])('loads the page anew once for %s, and then says so', async (error) => {
    const reload = vi.spyOn(window.location, 'reload').mockImplementation(() => {})
    sessionStorage.clear()
    await show(error)
    await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce())
    expect(screen.queryByRole('heading')).toBeNull()
    cleanup()
    await show(error)
    expect(reload).toHaveBeenCalledOnce()
    await screen.findByRole('heading', { name: 'サーバーに接続できません' })
    reload.mockRestore()
  })

  it('stays on the page while there is no network', async () => {
    sessionStorage.clear()
    const reload = vi.spyOn(window.location, 'reload').mockImplementation(() => {})
    const onLine = vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
    await show(new TypeError('Failed to fetch dynamically imported module: /assets/x.js'))
    await screen.findByRole('heading', { name: 'サーバーに接続できません' })
    expect(reload).not.toHaveBeenCalled()
    onLine.mockRestore()
    reload.mockRestore()
  })

  it('reloads the page when an unreachable server is reachable again, but not if it was reachable', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const reload = vi.spyOn(window.location, 'reload').mockImplementation(() => {})
    await show(new ApiError(0, {}))
    await screen.findByRole('heading', { name: 'サーバーに接続できません' })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reload).not.toHaveBeenCalled()
    vi.mocked(window.fetch).mockRejectedValueOnce(new TypeError('Failed to fetch'))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(reload).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(reload).toHaveBeenCalledOnce()
    reload.mockRestore()
  })

  it('shows the request id for support', async () => {
    await show(new ApiError(500, { request_id: 'r-1' }))
    await screen.findByText('r-1')
  })

  it('shows nothing while the browser leaves for /login', async () => {
    await show(new ApiError(401, {}))
    expect(screen.queryByRole('heading')).toBeNull()
  })
})
