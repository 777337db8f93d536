import { describe, expect, it } from 'vitest'
import type { ToolInput, ToolInputField } from '@/lib/api'
import { checkInput, type InputValue, initialInput, toResponse } from './inputValues'

const field = (name: string, rest: Partial<ToolInputField>): ToolInputField => ({
  name,
  label: name,
  type: 'string',
  required: false,
  ...rest,
})

const input: ToolInput = {
  server: '予約',
  round: 1,
  forms: [
    {
      id: 'q',
      message: '',
      fields: [
        field('people', { type: 'integer', required: true, minimum: 0, maximum: 8 }),
        field('price', { type: 'number' }),
        field('smoking', { type: 'boolean', default: true }),
        field('room', { type: 'choice', required: true, options: [{ value: 'a', label: 'A' }] }),
        field('note', { min_length: 2, max_length: 3 }),
        field('days', {
          type: 'choices',
          required: true,
          default: ['mon'],
          min_items: 1,
          max_items: 2,
          options: ['mon', 'tue', 'wed'].map((value) => ({ value, label: value })),
        }),
        field('tags', { type: 'choices', options: [{ value: 'x', label: 'X' }] }),
        field('later', { type: 'choices', min_items: 1, options: [{ value: 'x', label: 'X' }] }),
        field('at', { format: 'date-time', default: '2026-12-01T09:00:00Z' }),
      ],
    },
  ],
}

const valid = { ...initialInput(input), 'q.people': '０', 'q.room': 'a' }

describe('the values of a form of a tool', () => {
  it('begin with the defaults, and are sent with their types', () => {
    expect(toResponse(input, { ...valid, 'q.price': '－１．５' })).toEqual({
      action: 'accept',
      values: {
        q: {
          people: 0,
          price: -1.5,
          smoking: true,
          room: 'a',
          days: ['mon'],
          tags: [],
          at: '2026-12-01T09:00:00.000Z',
        },
      },
    })
  })

  it.each<[string, InputValue]>([
    ['q.days', []],
    ['q.days', ['mon', 'tue', 'wed']],
    ['q.people', ''],
    ['q.people', '1.5'],
    ['q.people', '9'],
    ['q.people', '-1'],
    ['q.price', '二'],
    ['q.price', ' '],
    ['q.price', '1e999'],
    ['q.room', ''],
    ['q.note', 'あ'],
    ['q.note', 'あいうえ'],
  ])('are refused by the path of their field: %s with "%s"', (path, value) => {
    expect(Object.keys(checkInput(input, { ...valid, [path]: value }))).toEqual([path])
  })

  it('may be empty if they are optional', () => {
    expect(checkInput(input, { ...valid, 'q.at': '' })).toEqual({})
  })
})
