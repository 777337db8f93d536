import { cleanup, fireEvent, render, screen } from '@testing-library/react'
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

  const show = async (thrown: unknown) => {
    const loader = () => {
      if (thrown instanceof Function) return thrown()
      throw thrown
    }
    const router = createMemoryRouter([
      { path: '/', loader, element: <main tabIndex={-1}>ページ</main>, errorElement: <RouteError /> },
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
    const missing = new TypeError('Failed to fetch dynamically imported module: /assets/x.js')
    await show(missing)
    await screen.findByRole('heading', { name: 'サーバーに接続できません' })
    cleanup()
    onLine.mockRestore()
    vi.mocked(window.fetch).mockRejectedValue(new TypeError('Failed to fetch'))
    await show(missing)
    const button = await screen.findByRole('button', { name: '再読み込み' })
    fireEvent.click(button)
    expect(button.getAttribute('aria-busy')).toBe('true')
    await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
    expect(reload).not.toHaveBeenCalled()
    reload.mockRestore()
  })

  it('loads the data again, but not the app, when an unreachable server is reachable again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const reload = vi.spyOn(window.location, 'reload').mockImplementation(() => {})
    const loader = vi.fn<() => null>(() => {
      throw new ApiError(0, {})
    })
    const away = () => vi.mocked(window.fetch).mockRejectedValueOnce(new TypeError('Failed to fetch'))
    await show(loader)
    await screen.findByRole('heading', { name: 'サーバーに接続できません' })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(loader, 'the server was reachable').toHaveBeenCalledTimes(1)
    away()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(loader).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(loader).toHaveBeenCalledTimes(2)
    fireEvent.click(screen.getByRole('button', { name: '再読み込み' }))
    await vi.waitFor(() => expect(loader).toHaveBeenCalledTimes(3))
    loader.mockReturnValue(null)
    screen.getByRole('button', { name: '再読み込み' }).focus()
    away()
    await vi.advanceTimersByTimeAsync(10_000)
    const main = await screen.findByText('ページ')
    await vi.waitFor(() => expect(document.activeElement).toBe(main))
    expect(reload).not.toHaveBeenCalled()
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
