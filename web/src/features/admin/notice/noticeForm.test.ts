import { describe, expect, it } from 'vitest'
import { ApiError, type ManagedNotice } from '@/lib/api'
import { checkValues, initialValues, type NoticeValues, requestOf, same, serverErrors } from './noticeForm'

const now = Date.parse('2026-12-01T00:00:00Z') // 9:00 in Japan.

const notice: ManagedNotice = {
  id: 'n',
  title: '休業日',
  body: '本文',
  url: '',
  level: 'info',
  audience: 'all',
  published_at: '2026-12-01T00:30:15.123456Z',
  ends_at: '2026-12-28T15:00:00Z',
  state: 'scheduled',
  own: true,
}

const values = (changes: Partial<NoticeValues> = {}): NoticeValues => ({
  ...initialValues(),
  title: '休業日',
  ...changes,
})

describe('the form of a notice', () => {
  it('shows times in Japan, and sends unchanged ones as they were', () => {
    const opened = initialValues(notice)
    expect([opened.from, opened.to]).toEqual(['2026-12-01T09:30', '2026-12-29T00:00'])
    expect(requestOf(opened, notice)).toMatchObject({
      published_at: notice.published_at,
      ends_at: notice.ends_at,
    })
    expect(requestOf({ ...opened, from: '2026-12-02T08:00' }, notice).published_at).toBe(
      '2026-12-01T23:00:00.000Z',
    )
    expect(requestOf({ ...opened, from: '', to: '' }, notice)).not.toHaveProperty('published_at')
    expect(requestOf({ ...opened, from: '' }, { ...notice, state: 'published' }).published_at).toBe(
      notice.published_at,
    )
  })

  it('copies the text without the times', () => {
    expect(initialValues(notice, true)).toEqual(values({ body: '本文' }))
    expect(same(initialValues(notice), initialValues(notice, true))).toBe(false)
    expect(same(values(), values())).toBe(true)
  })

  it.each<[string, Partial<NoticeValues>, ManagedNotice | undefined, string[]]>([
    ['a plain one', {}, undefined, []],
    ['without a title', { title: '　' }, undefined, ['title']],
    ['too long', { title: '題'.repeat(201), body: '文'.repeat(2001) }, undefined, ['title', 'body']],
    ['a script', { url: 'javascript:alert(1)' }, undefined, ['url']],
    ['an address', { url: ' https://example.com/a ' }, undefined, []],
    ['for later', { from: '2026-12-01T09:01', to: '2026-12-01T09:02' }, undefined, []],
    ['from the past', { from: '2026-12-01T08:59' }, undefined, ['from']],
    ['to the past', { to: '2026-12-01T08:59' }, undefined, ['to']],
    ['the wrong way round', { from: '2026-12-02T09:00', to: '2026-12-01T10:00' }, undefined, ['to']],
    [
      'published before',
      { from: '2026-11-01T09:00', to: '' },
      { ...notice, published_at: '2026-11-01T00:00:00Z', state: 'published' },
      [],
    ],
  ])('has an error for one %s', (_, changes, of, wrong) => {
    expect(Object.keys(checkValues(values(changes), of, now))).toEqual(wrong)
  })

  it('assigns the server’s errors to fields', () => {
    const cause = new ApiError(400, {
      errors: [
        { field: 'ends_at', message: '遅すぎます。' },
        { field: 'request_id', message: '必須です。' },
      ],
    })
    expect(serverErrors(cause)).toEqual({ errors: { to: '遅すぎます。' }, rest: '必須です。' })
    expect(serverErrors(new ApiError(409, { detail: '終了しています。' })).rest).toBe('終了しています。')
  })
})
