import { describe, expect, it } from 'vitest'
import { matches } from './match'

describe('the search', () => {
  it.each([
    ['', '何でも', true],
    ['ﾚﾎﾟｰﾄ', '四半期レポート', true],
    ['れぽーと', '四半期レポート', true],
    ['ＡＩ', 'ai の使い方', true],
    ['要約　資料', '資料の要約', true],
    ['要約 翻訳', '資料の要約', false],
  ])('%j in %j is %s', (query, text, found) => {
    expect(matches(query, text)).toBe(found)
  })
})
