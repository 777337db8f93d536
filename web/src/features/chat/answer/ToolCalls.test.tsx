import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { ToolCalls } from './ToolCalls'

it('marks the invisible characters in the arguments of a finished call', () => {
  const call = {
    id: 'a',
    title: '送信',
    arguments: '{"to":"taro\u202e@example.jp"}',
    status: 'success',
    result: '家族👨\u200d👩',
  } as const
  render(<ToolCalls calls={[call]} writing={false} />)
  fireEvent.click(screen.getByText('送信を使用'))
  expect(screen.getByText('taro\ufffd@example.jp')).toBeTruthy()
  expect(screen.getByText('家族👨\u200d👩')).toBeTruthy()
})
