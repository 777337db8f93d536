import { beforeEach, describe, expect, it, vi } from 'vitest'
import { callAs } from '@/lib/api/caller'
import { clearStoredTexts, followStoredTexts, readStoredText, writeStoredText } from './storedTexts'

function signIn(userId: string): void {
  callAs({ fetch, token: async () => null, userId: () => userId })
}

beforeEach(() => {
  localStorage.clear()
  signIn('hanako')
})

describe('the stored texts', () => {
  it('belong to the user who wrote them', () => {
    writeStoredText('draft:thread:t', '書きかけ')
    expect(readStoredText('draft:thread:t')).toBe('書きかけ')
    signIn('taro')
    expect(readStoredText('draft:thread:t')).toBe('')
  })

  it('are removed when emptied and after signing out, without affecting other data', () => {
    localStorage.setItem('tsumugiTheme', 'dark')
    writeStoredText('a', '一')
    writeStoredText('a', '')
    expect(localStorage.length).toBe(1)
    writeStoredText('b', '二')
    clearStoredTexts()
    expect(readStoredText('b')).toBe('')
    expect(localStorage.getItem('tsumugiTheme')).toBe('dark')
  })

  it('are limited: the oldest are removed, and too long ones are not stored', () => {
    vi.useFakeTimers()
    for (let index = 0; index < 45; index++) {
      vi.setSystemTime(index)
      writeStoredText(String(index), 'x')
    }
    expect(readStoredText('4')).toBe('')
    expect(readStoredText('5')).toBe('x')
    writeStoredText('5', 'x'.repeat(160_001))
    expect(readStoredText('5')).toBe('')
  })

  it.each(['', 'null', '{}', '{"at":"1","value":2}'])('takes a spoilt record %j for none', (text) => {
    writeStoredText('a', '一')
    const key = Object.keys(localStorage).find((item) => item.endsWith(':a')) as string
    localStorage.setItem(key, text)
    expect(readStoredText('a')).toBe('')
  })

  it('report changes by another tab of the same user', () => {
    const heard = vi.fn()
    const stop = followStoredTexts(heard)
    const tell = (key: string, value: string | null) =>
      window.dispatchEvent(
        new StorageEvent('storage', { key, newValue: value && JSON.stringify({ at: 1, value }) }),
      )
    tell('tsumugiKept:hanako:a', '一')
    tell('tsumugiKept:taro:a', '二')
    tell('tsumugiKept:hanako:a', null)
    expect(heard.mock.calls).toEqual([
      ['a', '一'],
      ['a', ''],
    ])
    stop()
  })
})
