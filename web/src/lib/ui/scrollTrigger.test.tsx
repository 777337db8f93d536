import { fireEvent, render } from '@testing-library/react'
import { useRef } from 'react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { SCROLL_PAUSE, Throttle, useScrollTrigger } from './scrollTrigger'

interface ListProps {
  enabled: boolean
  onNear: () => void
  count: number
  afterScroll?: boolean
}

function List({ enabled, onNear, count, afterScroll = false }: ListProps) {
  const root = useRef<HTMLDivElement>(null)
  const sentinel = useScrollTrigger<HTMLDivElement>(root, { enabled, onNear, count, afterScroll })
  return (
    <div ref={root}>
      <div ref={sentinel} />
    </div>
  )
}

describe('the throttle', () => {
  beforeEach(() => void vi.useFakeTimers())

  it('lets one call through per second, and runs the last delayed one', () => {
    const run = vi.fn()
    const throttle = new Throttle(run, SCROLL_PAUSE)
    throttle.call()
    throttle.call()
    throttle.call()
    expect(run).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(999)
    expect(run).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1)
    expect(run).toHaveBeenCalledTimes(2)
    vi.advanceTimersByTime(5000)
    expect(run).toHaveBeenCalledTimes(2)
    throttle.call()
    expect(run).toHaveBeenCalledTimes(3)
  })

  it('drops a delayed call', () => {
    const run = vi.fn()
    const throttle = new Throttle(run, SCROLL_PAUSE)
    throttle.call()
    throttle.call()
    throttle.cancel()
    vi.advanceTimersByTime(5000)
    expect(run).toHaveBeenCalledTimes(1)
  })
})

describe('the scroll trigger', () => {
  const observers: Array<{ options: IntersectionObserverInit | undefined; near: () => void; live: boolean }> =
    []

  beforeEach(() => {
    vi.useFakeTimers()
    observers.length = 0
    vi.stubGlobal(
      'IntersectionObserver',
      class {
        readonly #entry
        constructor(
          callback: (entries: Array<{ isIntersecting: boolean }>) => void,
          options?: IntersectionObserverInit,
        ) {
          this.#entry = { options, near: () => callback([{ isIntersecting: true }]), live: false }
          observers.push(this.#entry)
        }
        observe() {
          this.#entry.live = true
        }
        disconnect() {
          this.#entry.live = false
        }
      },
    )
  })

  it('observes a margin of 100 px, only while there may be more', () => {
    const { rerender } = render(<List enabled={false} onNear={() => {}} count={0} />)
    expect(observers).toHaveLength(0)
    rerender(<List enabled onNear={() => {}} count={10} />)
    expect(observers[0]?.options?.rootMargin).toBe('0px 0px 100px 0px')
    expect(observers[0]?.live).toBe(true)
    rerender(<List enabled={false} onNear={() => {}} count={10} />)
    expect(observers[0]?.live).toBe(false)
  })

  it('triggers at most once a second, and again while the end stays near', () => {
    const onNear = vi.fn()
    const { rerender } = render(<List enabled onNear={onNear} count={10} />)
    observers[0]?.near()
    expect(onNear).toHaveBeenCalledTimes(1)
    rerender(<List enabled onNear={onNear} count={20} />)
    observers[1]?.near()
    expect(onNear).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1000)
    expect(onNear).toHaveBeenCalledTimes(2)
  })

  it('waits for the user to scroll if configured, even if the end is near', () => {
    const onNear = vi.fn()
    const { rerender, container } = render(<List enabled onNear={onNear} count={10} afterScroll />)
    observers[0]?.near()
    expect(onNear).not.toHaveBeenCalled()
    fireEvent.scroll(container.firstElementChild as Element)
    expect(onNear).toHaveBeenCalledTimes(1)
    rerender(<List enabled onNear={onNear} count={20} afterScroll />)
    observers[1]?.near()
    vi.advanceTimersByTime(5000)
    expect(onNear).toHaveBeenCalledTimes(1)
  })
})
