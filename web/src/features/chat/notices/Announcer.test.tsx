import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import type { Message } from '@/lib/api'
import { awaitedAnswer } from '@/lib/stream'
import { message } from '../conversation/testing'
import { optimisticTurns, storedTurn } from '../conversation/turns'
import { Announcer } from './Announcer'

describe('a finished answer', () => {
  const [, writing] = optimisticTurns(
    'r',
    't',
    { content: '質問', siblings: [] },
    awaitedAnswer('r'),
    '2026-03-01T00:00:00Z',
  )

  const heard = (content: string, proofread?: Message['proofread']) => {
    const { container, rerender } = render(<Announcer turn={writing} />)
    const finished = message(2, { status: 'success', content, ...(proofread && { proofread }) })
    rerender(<Announcer turn={storedTurn(finished)} />)
    return container.querySelector('[role="status"]')?.textContent ?? ''
  }

  it('is read out without Markdown syntax', () => {
    expect(heard('## 見出し\n\n- **太字**の[項目](https://example.com)')).toBe('回答です。見出し 太字 の項目')
  })

  it('of a proofread text is announced by the number of its changes', () => {
    const change = { id: 1, start: 0, end: 1, before: '絹', after: '糸', kind: 'typo', reason: '' } as const
    expect(heard('## 直した箇所', { text: '絹', changes: [change], dropped: 0 })).toBe(
      '校正が終わりました。修正が必要な箇所が1件あります。',
    )
    expect(heard('直すべき箇所は', { text: '絹', changes: [], dropped: 0 })).toBe(
      '校正が終わりました。修正が必要な箇所はありませんでした。',
    )
  })

  it('is read out in full up to the limit, and cut at a sentence above it', () => {
    const sentence = '会議の記録です。'
    expect(heard(sentence.repeat(250))).toBe(`回答です。${sentence.repeat(250)}`)
    const begun = `回答です。${sentence.repeat(250)}（続きは本文にあります）`
    expect(heard(sentence.repeat(251))).toBe(begun)
    expect(heard(sentence.repeat(10_000))).toBe(begun)
    expect(heard('文'.repeat(3000))).toBe(`回答です。${'文'.repeat(2000)}（続きは本文にあります）`)
  })

  it('is not read out again after the next question was refused', () => {
    const earlier = storedTurn(message(2, { status: 'success', content: '前の回答' }))
    const { getByRole, rerender } = render(<Announcer turn={earlier} />)
    rerender(<Announcer turn={writing} />)
    expect(getByRole('status').textContent).toBe('回答を作成しています')
    rerender(<Announcer turn={earlier} />)
    expect(getByRole('status').textContent).toBe('')
    rerender(<Announcer turn={writing} />)
    expect(getByRole('status').textContent).toBe('回答を作成しています')
  })
})
