import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render } from '@testing-library/react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnswerToolCall } from '@/lib/stream'
import { ApprovalCard } from './ApprovalCard'

describe('a call that waits for a decision', () => {
  afterEach(() => {
    cleanup()
    vi.unstubAllGlobals()
  })

  it('shows invisible characters of the arguments', () => {
    vi.stubGlobal('fetch', () => new Promise(() => undefined))
    const approval = { id: 'a', state: 'waiting', cause: 'rule', expires_at: '2026-11-30T00:00:00Z' } as const
    const call: AnswerToolCall = {
      id: 'c',
      name: 'send',
      title: '送信',
      arguments: JSON.stringify({ 't\u200bo': '甲\u202e乙\u0007\n丙' }),
      offset: 0,
      status: 'running',
      result: '',
      error: '',
      approval,
    }
    const { container } = render(
      <QueryClientProvider client={new QueryClient()}>
        <ApprovalCard call={call} approval={approval} />
      </QueryClientProvider>,
    )
    expect(container.querySelector('dt')?.textContent).toBe('t\uFFFDo')
    expect(container.querySelector('dd')?.textContent).toBe('甲\uFFFD乙\uFFFD\n丙')
    expect(container.querySelector('pre')?.textContent).toBe('{\n  "t\uFFFDo": "甲\uFFFD乙\\u0007\\n丙"\n}')
  })
})
