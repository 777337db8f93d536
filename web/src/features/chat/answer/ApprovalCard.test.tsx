import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { waitingCallsQuery } from '@/entities/thread/toolCalls'
import type { ToolApproval, ToolDecision } from '@/lib/api'
import type { AnswerToolCall } from '@/lib/stream'
import { ApprovalCard } from './ApprovalCard'
import { texts } from './approvalTexts'

describe('a call that waits for a decision', () => {
  afterEach(() => {
    cleanup()
    vi.unstubAllGlobals()
  })

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

  function show(waiting: Partial<ToolApproval>[] = []) {
    vi.stubGlobal('fetch', () => new Promise(() => undefined))
    const client = new QueryClient()
    client.setQueryData(waitingCallsQuery.queryKey, waiting as ToolApproval[])
    return render(
      <QueryClientProvider client={client}>
        <ApprovalCard call={call} approval={approval} />
      </QueryClientProvider>,
    )
  }

  it('shows invisible characters of the arguments', () => {
    const { container } = show()
    expect(container.querySelector('dt')?.textContent).toBe('t\uFFFDo')
    expect(container.querySelector('dd')?.textContent).toBe('甲\uFFFD乙\uFFFD\n丙')
    expect(container.querySelector('pre')?.textContent).toBe('{\n  "t\uFFFDo": "甲\uFFFD乙\\u0007\\n丙"\n}')
    expect(screen.getByText(texts.invisible)).toBeTruthy()
  })

  it('shows invisible characters of the arguments that the person edits', () => {
    show([{ id: 'a', title: '送信', cause: 'rule', arguments: call.arguments, arguments_sha256: '' }])
    fireEvent.click(screen.getByRole('button', { name: texts.edit }))
    expect(document.activeElement).toBe(screen.getByRole('textbox'))
    expect(screen.getByText(texts.invisible)).toBeTruthy()
    expect(screen.getByText(/t\uFFFDo/).textContent).toBe('{\n  "t\uFFFDo": "甲\uFFFD乙\\u0007\\n丙"\n}')
    fireEvent.change(screen.getByRole('textbox'), { target: { value: '{\n\t"to": "乙" }' } })
    expect(screen.queryByText(texts.invisible)).toBeNull()
    fireEvent.change(screen.getByRole('textbox'), { target: { value: '{ "to": "\u2066乙' } })
    expect(screen.getByText(texts.invisible)).toBeTruthy()
  })

  it('neither shows nor sends rounded numbers', () => {
    const json = '{"id":12345678901234567890,"to":["1e999",0.10,-1e999],"n":9007199254740992}'
    const { container } = show([
      { id: 'a', title: '送信', cause: 'rule', arguments: json, arguments_sha256: '' },
    ])
    expect(screen.queryByText(texts.invisible)).toBeNull()
    const values = [...container.querySelectorAll('dd')].map((dd) => dd.textContent)
    expect(values).toEqual(['12345678901234567890', '["1e999",0.1,"-1e999"]', '9007199254740992'])
    expect(container.querySelector('pre')?.textContent).toBe(json)
    fireEvent.click(screen.getByRole('button', { name: texts.edit }))
    expect((screen.getByRole('textbox') as HTMLTextAreaElement).value).toBe(json)
    expect(screen.getByText(texts.longNumber)).toBeTruthy()
    expect((screen.getByRole('button', { name: texts.approveEdited }) as HTMLButtonElement).disabled).toBe(
      true,
    )
    fireEvent.change(screen.getByRole('textbox'), {
      target: { value: '{"id":"12345678901234567890","n":1.50}' },
    })
    expect((screen.getByRole('button', { name: texts.approveEdited }) as HTMLButtonElement).disabled).toBe(
      false,
    )
  })

  it('does not send an object that repeats a name, of which only the last value would count', () => {
    show([{ id: 'a', title: '送信', cause: 'rule', arguments: '{"to":"甲"}', arguments_sha256: '' }])
    fireEvent.click(screen.getByRole('button', { name: texts.edit }))
    const enter = (value: string) => fireEvent.change(screen.getByRole('textbox'), { target: { value } })
    const approve = screen.getByRole('button', { name: texts.approveEdited }) as HTMLButtonElement
    for (const json of [
      '{"to":"甲","to":"乙"}',
      '{"a":[{"b":1, "\\u0062" : 2}]}',
      '{"__proto__":1,"__proto__":1}',
    ]) {
      enter(json)
      expect(screen.getByText(texts.repeatedName)).toBeTruthy()
      expect(approve.disabled).toBe(true)
    }
    enter('{"to":"乙","__proto__":"a","x":[{"to":"\\"to\\":"},{"to":["to","to"]}]}')
    expect(screen.queryByText(texts.repeatedName)).toBeNull()
    expect(approve.disabled).toBe(false)
  })

  it('shows beside the form why edited arguments are refused, and sends the corrected ones', async () => {
    const message = '引数がツールの定義に合いません。「to」：文字列で指定してください。'
    const sent: unknown[] = []
    show([{ id: 'a', title: '送信', cause: 'rule', arguments: '{"to":"甲"}', arguments_sha256: '' }])
    vi.stubGlobal('fetch', async (request: Request) => {
      sent.push(((await request.json()) as ToolDecision).arguments)
      const errors = [{ field: 'arguments', message }]
      return Response.json({ status: 400, code: 'invalid', detail: message, errors }, { status: 400 })
    })
    fireEvent.click(screen.getByRole('button', { name: texts.edit }))
    const form = screen.getByRole('textbox') as HTMLTextAreaElement
    fireEvent.change(form, { target: { value: '{"to":1}' } })
    fireEvent.click(screen.getByRole('button', { name: texts.approveEdited }))
    expect(await screen.findAllByText(message)).toHaveLength(1)
    expect(form.value).toBe('{"to":1}')
    expect(form.getAttribute('aria-invalid')).toBe('true')
    fireEvent.change(form, { target: { value: '{"to":"乙"}' } })
    fireEvent.click(screen.getByRole('button', { name: texts.approveEdited }))
    await vi.waitFor(() => expect(sent).toEqual([{ to: 1 }, { to: '乙' }]))
  })
})
