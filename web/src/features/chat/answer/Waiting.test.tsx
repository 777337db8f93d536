import { act, render } from '@testing-library/react'
import { atom, createStore, Provider } from 'jotai'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { type AnswerView, awaitedAnswer, type LiveAnswer } from '@/lib/stream'
import { optimisticTurns } from '../conversation/turns'
import { Announcer } from '../notices/Announcer'
import { texts } from '../texts'
import { Waiting } from './Waiting'

const { delay, status } = texts
const blank = createStore().get(awaitedAnswer('r').viewAtom)
const begun: AnswerView = { ...blank, messageId: 'm', threadId: 't', run: 1, hasText: true, line: 'open' }

/** setup renders an answer and the announcer. */
function setup() {
  const store = createStore()
  const view = atom(begun)
  const live: LiveAnswer = { ...awaitedAnswer('r'), viewAtom: view }
  const [, turn] = optimisticTurns('r', 't', { content: '質問', siblings: [] }, live, '2026-03-01T00:00:00Z')
  const screen = () => (
    <Provider store={store}>
      <Waiting view={store.get(view)} />
      <Announcer turn={turn} />
    </Provider>
  )
  const { container, rerender } = render(screen())
  const heard: string[] = []
  const listen = () => {
    const said = container.querySelector('[role="status"]')?.textContent ?? ''
    if (said !== '' && said !== heard.at(-1)) heard.push(said)
  }
  listen()
  const become = (change: Partial<AnswerView>, ms = 0) => {
    act(() => store.set(view, { ...begun, ...change }))
    rerender(screen())
    act(() => void vi.advanceTimersByTime(ms))
    listen()
  }
  return { become, heard, line: () => container.querySelector('p')?.textContent ?? '' }
}

describe('a delayed answer', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  it('shows the delay in one line and announces it once', () => {
    const { become, heard, line } = setup()
    expect(line()).toBe('')
    for (let i = 0; i < 3; i++) {
      become({ stalled: true })
      expect(line()).toBe(delay.stalled)
      become({})
      expect(line()).toBe('')
    }
    become({ rewriting: true })
    expect(line()).toBe(delay.rewriting)
    become({ rewriting: true, stalled: true })
    expect(line()).toBe(delay.stalled)
    become({ rewriting: true })
    expect(heard).toEqual([status.writing, delay.stalled, delay.rewriting])
  })

  it('reports a lost connection first, after it has lasted for a while', () => {
    const { become, line } = setup()
    become({ line: 'waiting', stalled: true }, 2900)
    expect(line()).toBe(delay.stalled)
    become({ line: 'connecting', stalled: true }, 200)
    expect(line()).toBe(delay.reconnecting)
    become({ line: 'open', stalled: true })
    expect(line()).toBe(delay.stalled)
  })

  it('does not report a busy server as a lost connection', () => {
    const { become, heard, line } = setup()
    become({ messageId: null, hasText: false, line: 'waiting', busyUntil: 8000 }, 6000)
    expect(line()).toBe(status.queued)
    become({ hasText: false, line: 'waiting', busyUntil: 8000 }, 6000)
    expect(line()).toBe(status.writing)
    expect(heard).toEqual([status.writing])
  })
})
