import { describe, expect, it } from 'vitest'
import type { Upload } from '@/entities/source/uploads'
import type { DataSource, JobStatus } from '@/lib/api'
import { endedSources, refusedUploads } from './ended'

const source = (id: string, status: JobStatus, revision: number) => ({ id, status, revision }) as DataSource

const ended = (before: DataSource[] | null, now: DataSource[]) => {
  const { ready, failed } = endedSources(before, now)
  return [ready.map(({ id }) => id), failed.map(({ id }) => id)]
}

describe('endedSources', () => {
  it('returns the data sources that became usable or failed since the previous list', () => {
    const before = [
      source('a', 'running', 2),
      source('b', 'pending', 1),
      source('c', 'success', 3),
      source('d', 'running', 2),
    ]
    const now = [
      source('a', 'success', 3),
      source('b', 'failed', 3),
      source('c', 'success', 3),
      source('d', 'running', 2),
    ]
    expect(ended(before, now)).toEqual([['a'], ['b']])
    expect(ended(now, now)).toEqual([[], []])
  })

  it('returns a failed data source that fails again after another reading', () => {
    expect(ended([source('a', 'failed', 3)], [source('a', 'failed', 6)])).toEqual([[], ['a']])
  })

  it('returns new data sources above known ones, but none below them or in the first list', () => {
    const known = source('k', 'success', 3)
    const now = [source('new', 'success', 3), known, source('old', 'failed', 3)]
    expect(ended([known], now)).toEqual([['new'], []])
    expect(ended(null, now)).toEqual([[], []])
    expect(ended([], [source('first', 'success', 3)])).toEqual([['first'], []])
  })
})

describe('refusedUploads', () => {
  it('returns a failed upload once, with its reason', () => {
    const upload = (id: number, state: Upload['state']) =>
      ({ id, state, file: { name: `${id}` }, reason: 'r' }) as Upload
    const before = [upload(1, 'sending'), upload(2, 'failed')]
    const now = [upload(1, 'failed'), upload(2, 'failed'), upload(3, 'failed'), upload(4, 'sending')]
    expect(refusedUploads(before, now)).toEqual([
      { name: '1', reason: 'r' },
      { name: '3', reason: 'r' },
    ])
  })
})
