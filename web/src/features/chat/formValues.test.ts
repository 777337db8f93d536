import { expect, it } from 'vitest'
import type { FormField, Skill } from '@/lib/api'
import { checkForm, filled, lengthOf, renderForm } from './formValues'

const fields: FormField[] = [
  { name: 'to', label: '宛先', type: 'text', required: true, max_length: 5 },
  { name: 'count', label: '件数', type: 'number', required: false },
  { name: 'style', label: '文体', type: 'select', required: true, options: ['標準', '簡潔'] },
  { name: 'text', label: '用件', type: 'textarea', required: false },
]
const skill = { form_fields: fields } as Skill

it('names what is wrong with each field', () => {
  expect(checkForm(skill, {})).toEqual({ to: '宛先を入力してください。', style: '文体を選択してください。' })
  expect(checkForm(skill, { to: '  ', style: '標準' })).toEqual({ to: '宛先を入力してください。' })
  expect(checkForm(skill, { to: 'あいうえおか', style: '標準', count: '一つ' })).toEqual({
    to: '宛先は5文字以内で入力してください（現在6文字）。',
    count: '件数は数字で入力してください。',
  })
  expect(checkForm(skill, { to: '𠮷𠮷𠮷𠮷𠮷', style: '標準', count: '－１２．５' })).toEqual({})
})

it('counts characters as the server does', () => {
  expect(lengthOf('𠮷あ\r\nb')).toBe(4)
})

it('leaves blank fields out', () => {
  expect(filled(skill, { to: ' あ ', count: ' ', other: 'x' })).toEqual({ to: ' あ ' })
})

it('shows a form as the server will', () => {
  const values = { to: ' 佐藤 様 ', count: '１２', style: '標準', text: ' 一行目\r\n二行目 ' }
  expect(renderForm(skill, values)).toBe(
    '**宛先** 佐藤 様  \n**件数** 12  \n**文体** 標準\n\n**用件**\n\n一行目\n二行目',
  )
})
