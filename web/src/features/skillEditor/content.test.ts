import { describe, expect, it } from 'vitest'
import type { SkillContent } from '@/lib/api'
import { emptyDraft, iconPath, nextFieldName, previewOf } from './content'
import { described } from './described'
import { diffLines } from './diff'

const { content } = emptyDraft('c1')

describe('a draft', () => {
  it.each([
    ['', '/icons/skills/default.svg'],
    ['mail', '/icons/skills/mail.svg'],
    ['📊', '/icons/emoji/1f4ca.svg'],
    ['👩🏽‍💻', '/icons/emoji/1f469-1f3fd-200d-1f4bb.svg'],
  ])('the icon %s is at %s', (icon, path) => expect(iconPath(icon)).toBe(path))

  it('is previewed as users will see it', () => {
    const field = { name: 'field_1', label: '資料', type: 'file', required: true } as const
    const form: SkillContent = { ...content, form_fields: [field] }
    expect(previewOf(content, 's').form_type).toBe('chat')
    expect(previewOf(form, 's')).toMatchObject({ form_type: 'form', accepts_data_sources: true })
    expect(nextFieldName(form)).toBe('field_2')
    expect(nextFieldName({ ...form, form_fields: [{ ...field, name: 'field_2' }] })).toBe('field_3')
  })
})

describe('the comparison of two versions', () => {
  it.each([
    ['a\nb\nc', 'a\nb\nc', ' a b c'],
    ['a\nb\nc', 'a\nc', ' a-b c'],
    ['a\nc', 'a\nb\nc', ' a+b c'],
    ['a', 'b', '-a+b'],
    ['', 'a', '-+a'],
  ])('%j → %j', (before, after, want) => {
    const marks = { same: ' ', removed: '-', added: '+' }
    expect(
      diffLines(before, after)
        .map(({ kind, text }) => marks[kind] + text)
        .join(''),
    ).toBe(want)
  })

  it('shows another category and other documents', () => {
    const names = new Map([
      ['c1', '文書'],
      ['c2', '調査'],
      ['d1', '規程.pdf'],
      ['d2', '手順.pdf'],
    ])
    const before = described({ ...content, document_ids: ['d1', 'gone-1'] }, names)
    const after = described({ ...content, category_id: 'c2', document_ids: ['d2', 'gone-2'] }, names)
    expect(
      diffLines(before, after)
        .filter(({ kind }) => kind === 'added')
        .map(({ text }) => text),
    ).toEqual([
      '分類：調査',
      '登録するファイル：手順.pdf',
      '登録するファイル：名前が分からないファイル（gone-2）',
    ])
  })

  it('is fast for two long prompts', () => {
    const long = Array.from({ length: 3000 }, (_, n) => `行${n}`).join('\n')
    expect(diffLines(long, `${long}\n終わり`).length).toBeGreaterThan(3000)
  })
})
