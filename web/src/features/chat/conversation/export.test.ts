import { expect, it } from 'vitest'
import type { Message } from '@/lib/api'
import { fileName, threadParts, toMarkdown } from './export'
import { storedTurn } from './turns'

const base: Message = {
  id: 'm1',
  thread_id: 't',
  siblings: [],
  role: 'user',
  content: '一行目\n二行目',
  status: 'success',
  citations: [],
  steps: [],
  created_at: '2026-03-04T05:06:07Z',
}

it('writes a thread as a document', () => {
  const answer: Message = {
    ...base,
    id: 'm2',
    role: 'assistant',
    content: '**答え**[1]',
    reasoning: '考えたこと',
    citations: [
      {
        index: 1,
        chunk_embedding_id: 'c',
        data_source_id: 'd',
        filename: '規程.pdf',
        page: 3,
        score: 1,
        quote: '',
        support: 'weak',
      },
      {
        index: 2,
        chunk_embedding_id: 'e',
        data_source_id: 'd',
        filename: '規程.pdf',
        page: 9,
        score: 1,
        quote: '',
      },
    ],
  }
  const text = toMarkdown(
    '題',
    '汎用',
    [storedTurn(base), storedTurn(answer)],
    new Date('2026-03-04T05:06:07Z'),
  )
  expect(threadParts('題', '汎用', [storedTurn(base), storedTurn(answer)]).slice(2)).toEqual([
    { kind: 'heading', level: 1, text: '質問' },
    { kind: 'quote', text: '一行目\n二行目' },
    { kind: 'heading', level: 1, text: '回答' },
    { kind: 'markdown', level: 2, text: '**答え**[1]' },
    { kind: 'heading', level: 2, text: '出典' },
    { kind: 'source', text: '[1] 規程.pdf 3ページ（要確認）' },
  ])
  expect(text).toContain('# 題\n\n汎用・')
  expect(text).toContain('## 質問\n\n> 一行目\n> 二行目')
  expect(text).toContain('## 回答\n\n**答え**[1]\n\n### 出典\n\n- [1] 規程.pdf 3ページ（要確認）\n')
})

it('creates names that are valid on every file system', () => {
  expect(fileName('売上/費用: 2026年 "速報"')).toBe('売上 費用 2026年 速報.md')
  expect(fileName('../..')).toBe(fileName(''))
  expect(fileName('あ'.repeat(200))).toBe(`${'あ'.repeat(60)}.md`)
  expect(fileName('a\u202Etxt.exe')).toBe('a txt.exe.md')
})
