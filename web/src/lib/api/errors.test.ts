import { describe, expect, it } from 'vitest'
import { ApiError, errorMessage, errorsByField, firstErrorMessage } from '.'

const fields = [
  { field: 'title', message: '題が長すぎます。' },
  { field: 'title', message: '題に改行があります。' },
  { field: 'kind', message: '種類が不明です。' },
]
const plain = new ApiError(409, { detail: '変更されています。' })
const detailed = new ApiError(400, { detail: '入力に誤りがあります。', errors: fields })
const unexplained = 'サーバーで問題が発生しました。時間をおいて、もう一度お試しください。'

describe('the message for a failed call', () => {
  it('is the detail of the problem', () => {
    expect(errorMessage(plain)).toBe('変更されています。')
    expect(errorMessage(detailed, '')).toBe('入力に誤りがあります。')
  })

  it('is general or the given one for another error', () => {
    expect(errorMessage(new TypeError('x'))).toBe(unexplained)
    expect(errorMessage(new TypeError('x'), '失敗しました。')).toBe('失敗しました。')
    expect(firstErrorMessage(null)).toBe(unexplained)
    expect(firstErrorMessage(null, '失敗しました。')).toBe('失敗しました。')
  })

  it('can be that of the first field', () => {
    expect(firstErrorMessage(detailed)).toBe('題が長すぎます。')
    expect(firstErrorMessage(plain)).toBe('変更されています。')
  })
})

describe('the messages by field', () => {
  const nameOf = (field: string) => (field === 'title' ? 'name' : undefined)

  it('have the first one of each field, and the others in the rest', () => {
    expect(errorsByField(detailed, nameOf)).toEqual({
      errors: { name: '題が長すぎます。' },
      rest: '種類が不明です。',
    })
  })

  it('have only a rest without fields', () => {
    expect(errorsByField(plain, nameOf)).toEqual({ errors: {}, rest: '変更されています。' })
    expect(errorsByField(new TypeError('x'), nameOf)).toEqual({ errors: {}, rest: unexplained })
  })
})
