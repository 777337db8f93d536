import { describe, expect, it } from 'vitest'
import type { DataSource } from '@/lib/api'
import { describeStatus } from './status'

const source = (change: Partial<DataSource>) => ({ filename: '規程.pdf', ...change }) as DataSource

describe('the status of a data source', () => {
  it.each<[Partial<DataSource>, string]>([
    [{ status: 'pending' }, '待機中'],
    [{ status: 'running' }, '読み取り中'],
    [{ status: 'running', progress: { stage: 'reading', done: 0, total: 0 } }, '読み取り中'],
    [
      { status: 'running', progress: { stage: 'reading', done: 120, total: 1000 } },
      '読み取り中 120/1,000ページ',
    ],
    [
      { status: 'running', filename: 'a.pptx', progress: { stage: 'reading', done: 1, total: 3 } },
      '読み取り中 1/3枚',
    ],
    [{ status: 'running', progress: { stage: 'indexing', done: 0, total: 0 } }, '索引を作成中'],
    [{ status: 'running', progress: { stage: 'embedding', done: 1, total: 9 } }, '意味を解析中 1/9'],
    [{ status: 'success' }, '読み取り済み'],
    [{ status: 'failed' }, '読み取れませんでした'],
  ])('%o is %s', (change, words) => {
    expect(describeStatus(source(change))).toBe(words)
  })
})
