import type { FormField, Skill } from '@/lib/api'
import { halfWidth } from '@/lib/ui/halfWidth'
import { texts } from '../texts'

export type FormValues = Readonly<Record<string, string>>

/** The server's limits for fields that do not define one, in characters. */
const defaultLimits: Readonly<Partial<Record<FormField['type'], number>>> = {
  text: 200,
  textarea: 20_000,
  number: 12,
}

/** limitOf returns the maximum length of a field, in characters. */
export function limitOf(field: FormField): number {
  if (field.max_length && field.max_length > 0) return field.max_length
  return defaultLimits[field.type] ?? Number.POSITIVE_INFINITY
}

/** lengthOf counts characters as the server does: code points, with every line break as one. */
export function lengthOf(value: string): number {
  return [...value.replace(/\r\n?/g, '\n')].length
}

/** inOrder returns the fields in the order of the form: first the required ones and the alternatives (`eitherOf`). */
export function inOrder(skill: Skill): readonly FormField[] {
  const either = eitherOf(skill)
  const optional = (field: FormField) => !field.required && !either.includes(field)
  return [...skill.form_fields].sort((a, b) => Number(optional(a)) - Number(optional(b)))
}

/** withDefaults sets every required select without a valid choice to its first option. */
export function withDefaults(skill: Skill, values: FormValues): FormValues {
  const chosen = { ...values }
  for (const { name, type, required, options = [] } of skill.form_fields) {
    const first = options[0]
    if (type === 'select' && required && first !== undefined && !options.includes(chosen[name] ?? ''))
      chosen[name] = first
  }
  return chosen
}

/** checkForm returns the error of each invalid field by name; empty if all are valid. The server validates again. */
export function checkForm(skill: Skill, values: FormValues): Readonly<Record<string, string>> {
  const wrong = skill.form_fields.flatMap((field) => {
    const message = check(field, values[field.name] ?? '')
    return message === '' ? [] : [[field.name, message]]
  })
  return Object.fromEntries(wrong.length > 0 ? wrong : checkOriginal(skill, values))
}

/** eitherOf returns alternative fields: the text or the file to proofread. The user must fill in exactly one. */
export function eitherOf({ kind, form_fields }: Skill): readonly FormField[] {
  return kind === 'proofreading_v2'
    ? form_fields.filter(({ type }) => type === 'textarea' || type === 'file')
    : []
}

function checkOriginal(skill: Skill, values: FormValues): string[][] {
  const fields = eitherOf(skill)
  const filled = fields.filter(({ name }) => values[name]?.trim())
  const first = fields[0]
  if (first === undefined || filled.length === 1) return []
  return [[first.name, filled.length === 0 ? texts.form.original : texts.form.either]]
}

function check(field: FormField, value: string): string {
  const { form } = texts
  if (value.trim() === '') {
    if (!field.required) return ''
    const chosen = ['select', 'file', 'date'].includes(field.type)
    return chosen ? form.requiredChoice(field.label) : form.required(field.label)
  }
  const limit = limitOf(field)
  const length = lengthOf(value)
  if (length > limit) return form.tooLong(field.label, limit, length)
  if (field.type === 'number' && !/^-?\d+(\.\d+)?$/.test(halfWidth(value))) return form.number(field.label)
  return ''
}

function shortValue({ type }: FormField, value: string, fileName: (id: string) => string): string {
  if (type === 'file') return fileName(value)
  if (type === 'date') return value.replace(/^(\d+)-0?(\d+)-0?(\d+)$/, '$1年$2月$3日')
  return type === 'number' ? halfWidth(value) : value.split(/\s+/).join(' ')
}

/** filled returns the values without blank ones. */
export function filled(skill: Skill, values: FormValues): FormValues {
  return Object.fromEntries(
    skill.form_fields
      .map((field) => [field.name, values[field.name] ?? ''] as const)
      .filter(([, value]) => value.trim() !== ''),
  )
}

/** renderForm returns the question as the thread will show it. `fileName` returns the name of a data source. */
export function renderForm(
  skill: Skill,
  values: FormValues,
  fileName: (id: string) => string = () => '',
): string {
  const short: string[] = []
  const long: string[] = []
  for (const field of skill.form_fields) {
    const value = (values[field.name] ?? '').trim().replace(/\r\n?/g, '\n')
    if (value === '') continue
    if (field.type === 'textarea') long.push(`**${field.label}**\n\n${value}`)
    else short.push(`**${field.label}** ${shortValue(field, value, fileName)}`)
  }
  return [...(short.length > 0 ? [short.join('  \n')] : []), ...long].join('\n\n')
}
