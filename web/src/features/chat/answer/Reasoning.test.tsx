import { act, fireEvent, render, screen } from '@testing-library/react'
import { atom, createStore, Provider } from 'jotai'
import { beforeEach, expect, it, vi } from 'vitest'
import { awaitedAnswer, type LiveAnswer, type Thinking } from '@/lib/stream'
import { message } from '../conversation/testing'
import { Reasoning, storedThinking } from './Reasoning'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))

it('counts the seconds while the model thinks, then shows the duration, and stays open', () => {
  const store = createStore()
  const text = atom('まず、')
  const live: LiveAnswer = { ...awaitedAnswer('r'), reasoningAtom: text }
  const show = (thinking: Thinking | null, answer: LiveAnswer | null, stored = '') => (
    <Provider store={store}>
      <Reasoning live={answer} thinking={thinking} stored={stored} />
    </Provider>
  )
  const { container, rerender } = render(show({ startedAt: 995_000, durationMs: null }, live))
  const summary = () => container.querySelector('summary')?.textContent
  expect(summary()).toBe('考えています… 5秒')
  act(() => void vi.advanceTimersByTime(7000))
  expect(summary()).toBe('考えています… 12秒')
  expect(screen.queryByText('まず、')).toBeNull()

  const details = container.querySelector('details') as HTMLDetailsElement
  details.open = true
  fireEvent(details, new Event('toggle'))
  expect(details.textContent).toContain('まず、')
  act(() => store.set(text, 'まず、次に。'))
  expect(details.textContent).toContain('まず、次に。')

  rerender(show({ startedAt: 995_000, durationMs: 72_400 }, live))
  expect(summary()).toBe('思考の過程（1分12秒）')
  rerender(show({ startedAt: 0, durationMs: 72_400 }, null, 'まず、次に。おわり。'))
  expect(details.open).toBe(true)
  expect(details.textContent).toContain('おわり。')
})

it('is shown only if the model returned its reasoning', () => {
  expect(storedThinking(message(2))).toBeNull()
  expect(storedThinking(message(2, { reasoning: '考え', reasoning_ms: 12_000 }))).toMatchObject({
    durationMs: 12_000,
  })
})
