import { act, renderHook } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { useTask } from './task'

describe('a task', () => {
  it('is busy until it ends, and no other one starts meanwhile', async () => {
    const { result } = renderHook(() => useTask())
    let resolve = () => {}
    const promise = new Promise<void>((end) => {
      resolve = end
    })
    const other = vi.fn(async () => {})
    let run: Promise<void> | undefined
    act(() => {
      run = result.current.run(() => promise, vi.fn())
    })
    expect(result.current.busy).toBe(true)
    await act(() => result.current.run(other, vi.fn()))
    expect(other).not.toHaveBeenCalled()
    resolve()
    await act(async () => run)
    expect(result.current.busy).toBe(false)
    await act(() => result.current.run(other, vi.fn()))
    expect(other).toHaveBeenCalledOnce()
  })

  it('passes a failure on, and can be retried by the same function', async () => {
    const { result } = renderHook(() => useTask())
    const { run } = result.current
    const cause = new Error('failed')
    const onFailure = vi.fn()
    await act(() => run(() => Promise.reject(cause), onFailure))
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(cause)
    expect(result.current.busy).toBe(false)
    await act(() => run(() => Promise.reject(cause), onFailure))
    expect(onFailure).toHaveBeenCalledTimes(2)
  })
})
