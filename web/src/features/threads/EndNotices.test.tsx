import { act, render } from '@testing-library/react'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { PageLocks } from '@/lib/browser/locks'
import { setNotices } from '@/lib/browser/systemNotices'
import { type LiveEvents, live } from '@/lib/live'
import { store } from '@/lib/ui/store'
import { dismissToast, toastsAtom } from '@/lib/ui/toast'
import { EndNotices, once } from './EndNotices'

/** The browser's Notification API, with a user who answers the permission prompt. */
class FakeNotification {
  static permission: NotificationPermission = 'default'
  static answer: NotificationPermission = 'granted'
  static readonly requestPermission = vi.fn(async () => {
    FakeNotification.permission = FakeNotification.answer
    return FakeNotification.answer
  })
  static shown: FakeNotification[] = []
  onclick: (() => void) | null = null
  readonly close = vi.fn()
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    FakeNotification.shown.push(this)
  }
}

describe('a notice of an answer that has ended', () => {
  let tell: LiveEvents['message'] extends infer E ? (event: E) => void : never
  let router: ReturnType<typeof createMemoryRouter>
  let visibility: DocumentVisibilityState
  const see = async (state: DocumentVisibilityState) => {
    visibility = state
    document.dispatchEvent(new Event('visibilitychange'))
  }
  const end = async (id = 'm') => {
    tell({
      message: { id, thread_id: 't', role: 'assistant', status: 'success', finish_reason: 'stop' },
    } as LiveEvents['message'])
    await act(() => vi.advanceTimersByTimeAsync(1000))
  }
  const toasts = () => store.get(toastsAtom)

  beforeEach(async () => {
    vi.useFakeTimers()
    vi.stubGlobal('Notification', FakeNotification)
    Object.assign(FakeNotification, { permission: 'default', answer: 'granted', shown: [] })
    FakeNotification.requestPermission.mockClear()
    localStorage.clear()
    for (const item of toasts()) dismissToast(item.id)
    visibility = 'hidden'
    vi.spyOn(document, 'visibilityState', 'get').mockImplementation(() => visibility)
    const on = vi.spyOn(live, 'on')
    router = createMemoryRouter([{ path: '*', element: <EndNotices /> }], { initialEntries: ['/home/skill'] })
    render(<RouterProvider router={router} />)
    tell = on.mock.calls.at(-1)?.[1] as typeof tell
  })

  it('is offered once, to somebody who comes back, and asks for nothing by itself', async () => {
    await end()
    expect(FakeNotification.requestPermission).not.toHaveBeenCalled()
    await see('visible')
    expect(toasts().map((item) => item.action?.label)).toEqual(['通知をオンにする'])
    toasts()[0]?.action?.run()
    await act(() => vi.advanceTimersByTimeAsync(0))
    expect(FakeNotification.requestPermission).toHaveBeenCalledOnce()

    await see('hidden')
    await end('m2')
    expect(FakeNotification.shown.map(({ options }) => [options.body, options.tag])).toEqual([
      ['回答が完了しました。', 'm2'],
    ])
    FakeNotification.shown[0]?.onclick?.()
    await act(() => vi.advanceTimersByTimeAsync(0))
    expect(router.state.location.pathname).toBe('/chat/t')
    await setNotices('off')
  })

  it('is not shown in a tab that is looked at, nor where it was refused', async () => {
    FakeNotification.answer = 'denied'
    expect(await setNotices('on')).toBe(false)
    await end('m3')
    FakeNotification.answer = 'granted'
    expect(await setNotices('on')).toBe(true)
    visibility = 'visible'
    await end('m4')
    expect(FakeNotification.shown).toEqual([])
    await setNotices('off')
  })

  it('is shown by one of several tabs, and by none where another one is looked at', async () => {
    await setNotices('on')
    const locks = new PageLocks()
    const told = vi.fn(async () => {})
    void once('a', true, told, locks)
    void once('a', true, told, locks)
    await vi.advanceTimersByTimeAsync(1000)
    expect(told).toHaveBeenCalledOnce()
    void once('b', true, told, locks)
    void once('b', false, told, locks)
    await vi.advanceTimersByTimeAsync(1000)
    expect(told).toHaveBeenCalledOnce()
    await setNotices('off')
  })
})
