import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import type { DayUsage } from '@/lib/api'
import { UsageChart } from './UsageChart'

const days: DayUsage[] = [
  { date: '2026-11-19', messages: 1, input_tokens: 1_200, output_tokens: 300 },
  { date: '2026-11-20', messages: 0, input_tokens: 0, output_tokens: 0 },
  { date: '2026-11-21', messages: 12, input_tokens: 34_000, output_tokens: 5_600 },
]

it('announces each day’s numbers on arrow keys', () => {
  render(<UsageChart days={days} measure="tokens" />)
  const chart = screen.getByRole('slider')
  const said = () => chart.getAttribute('aria-valuetext')
  expect(said()).toBe('11月21日（土）、入力34,000トークン、出力5,600トークン、回答12件')
  fireEvent.keyDown(chart, { key: 'ArrowLeft' })
  expect(said()).toContain('11月20日（金）')
  fireEvent.keyDown(chart, { key: 'Home' })
  fireEvent.keyDown(chart, { key: 'ArrowLeft' })
  expect(said()).toBe('11月19日（木）、入力1,200トークン、出力300トークン、回答1件')
  fireEvent.keyDown(chart, { key: 'End' })
  expect(chart.getAttribute('aria-valuenow')).toBe('3')
})
