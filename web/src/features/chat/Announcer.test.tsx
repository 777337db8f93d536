import { cleanup, render } from '@testing-library/react'
import { afterEach, describe, expect, it } from 'vitest'
import { awaitedAnswer } from '@/lib/stream'
import { Announcer } from './Announcer'
import { message } from './testing'
import { aheadTurns, storedTurn } from './turns'

describe('a finished answer', () => {
  afterEach(cleanup)

  const heard = (content: string) => {
    const [, writing] = aheadTurns(
      'r',
      't',
      { content: '質問', siblings: [] },
      awaitedAnswer('r'),
      '2026-03-01T00:00:00Z',
    )
    const { container, rerender } = render(<Announcer turn={writing} />)
    rerender(<Announcer turn={storedTurn(message(2, { role: 'assistant', status: 'success', content }))} />)
    return container.querySelector('[role="status"]')?.textContent ?? ''
  }

  it('is read out without its marks', () => {
    expect(heard('## 見出し\n\n- **太字**の[項目](https://example.com)')).toBe('回答です。見出し 太字 の項目')
  })

  it('is read out as a whole when it is long, and up to a sentence when it would take an hour', () => {
    const sentence = '会議の記録です。'
    expect(heard(sentence.repeat(250))).toBe(`回答です。${sentence.repeat(250)}`)
    const begun = `回答です。${sentence.repeat(250)}（続きは本文にあります）`
    expect(heard(sentence.repeat(251))).toBe(begun)
    expect(heard(sentence.repeat(10_000))).toBe(begun)
    expect(heard('文'.repeat(3000))).toBe(`回答です。${'文'.repeat(2000)}（続きは本文にあります）`)
  })
})
