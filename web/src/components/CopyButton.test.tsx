import { act, fireEvent, render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import { CopyIconButton } from './CopyButton'

beforeEach(() => void vi.useFakeTimers())

async function press(copy: () => Promise<void>): Promise<HTMLElement> {
  render(<CopyIconButton label="リンクをコピー" copy={copy} />)
  const button = screen.getByRole('button', { name: 'リンクをコピー' })
  fireEvent.click(button)
  await act(() => vi.advanceTimersByTimeAsync(0))
  return button
}

it('shows and announces ✓ for two seconds, and no toast', async () => {
  const button = await press(() => Promise.resolve())
  const ticked = () => button.querySelector('.lucide-check') !== null
  expect([ticked(), screen.queryByText('コピーしました') !== null]).toEqual([true, true])
  act(() => vi.advanceTimersByTime(1999))
  expect(ticked()).toBe(true)
  act(() => vi.advanceTimersByTime(1))
  expect([ticked(), screen.queryByText('コピーしました') !== null]).toEqual([false, false])
  expect(store.get(toastsAtom)).toEqual([])
})

it('reports a failure as a toast', async () => {
  const button = await press(() => Promise.reject(new Error('denied')))
  expect(button.querySelector('.lucide-check')).toBeNull()
  expect(store.get(toastsAtom)).toMatchObject([
    { tone: 'danger', message: expect.stringContaining('コピーできませんでした。') },
  ])
})
