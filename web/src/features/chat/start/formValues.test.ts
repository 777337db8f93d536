import { expect, it } from 'vitest'
import type { FormField, Skill } from '@/lib/api'
import { checkForm, filled, inOrder, lengthOf, renderForm, withDefaults } from './formValues'

const fields: FormField[] = [
  { name: 'to', label: '宛先', type: 'text', required: true, max_length: 5 },
  { name: 'count', label: '件数', type: 'number', required: false },
  { name: 'style', label: '文体', type: 'select', required: true, options: ['標準', '簡潔'] },
  { name: 'text', label: '用件', type: 'textarea', required: false },
]
const skill = { form_fields: fields } as Skill

it('names the error of each field', () => {
  expect(checkForm(skill, {})).toEqual({ to: '宛先を入力してください。', style: '文体を選択してください。' })
  expect(checkForm(skill, { to: '  ', style: '標準' })).toEqual({ to: '宛先を入力してください。' })
  expect(checkForm(skill, { to: 'あいうえおか', style: '標準', count: '一つ' })).toEqual({
    to: '宛先は5文字以内で入力してください（現在6文字）。',
    count: '件数は数字で入力してください。',
  })
  expect(checkForm(skill, { to: '𠮷𠮷𠮷𠮷𠮷', style: '標準', count: '－１２．５' })).toEqual({})
})

it('begins with the first option of every required select', () => {
  const skill = {
    form_fields: [
      { name: 'style', label: '文体', type: 'select', required: true, options: ['標準', '簡潔'] },
      { name: 'length', label: '長さ', type: 'select', required: false, options: ['短く', '長く'] },
    ],
  } as Skill
  expect(withDefaults(skill, {})).toEqual({ style: '標準' })
  expect(withDefaults(skill, { style: '簡潔', length: '長く' })).toEqual({ style: '簡潔', length: '長く' })
  // The skill no longer has this option.
  expect(withDefaults(skill, { style: '丁寧' })).toEqual({ style: '標準' })
})

it('shows required fields first, with the alternatives of which one is required', () => {
  const names = (skill: Skill) => inOrder(skill).map(({ name }) => name)
  expect(names(skill)).toEqual(['to', 'style', 'count', 'text'])
  expect(names({ ...skill, kind: 'proofreading_v2' })).toEqual(['to', 'style', 'text', 'count'])
})

it('requires either a text or a file to proofread, not both', () => {
  const original: FormField[] = [
    { name: 'text', label: '文章', type: 'textarea', required: false },
    { name: 'file', label: 'ファイル', type: 'file', required: false },
    { name: 'rules', label: '表記ルール', type: 'text', required: false },
  ]
  const proofreading = { kind: 'proofreading_v2', form_fields: original } as Skill
  const file = '0190f3c2-0000-7000-8000-000000000001'
  expect(checkForm(proofreading, { text: ' \n', rules: '絹' })).toEqual({
    text: '校正する文章を入力するか、ファイルを選択してください。',
  })
  expect(checkForm(proofreading, { text: '糸', file })).toEqual({
    text: '文章とファイルは、どちらか一つだけを指定してください。',
  })
  expect([checkForm(proofreading, { text: '糸' }), checkForm(proofreading, { file })]).toEqual([{}, {}])
  expect(checkForm({ ...proofreading, kind: '' }, {})).toEqual({})
})

it('counts characters as the server does', () => {
  expect(lengthOf('𠮷あ\r\nb')).toBe(4)
})

it('omits blank fields', () => {
  expect(filled(skill, { to: ' あ ', count: ' ', other: 'x' })).toEqual({ to: ' あ ' })
})

it('renders a form as the server does', () => {
  const values = { to: ' 佐藤 様 ', count: '１２', style: '標準', text: ' 一行目\r\n二行目 ' }
  expect(renderForm(skill, values)).toBe(
    '**宛先** 佐藤 様  \n**件数** 12  \n**文体** 標準\n\n**用件**\n\n一行目\n二行目',
  )
})
