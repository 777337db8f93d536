import type { FormField, Skill } from '@/lib/api'
import { texts } from './texts'

export type FormValues = Readonly<Record<string, string>>

/** Limits of fields that name none, in characters; the server's. */
const defaultLimits: Readonly<Partial<Record<FormField['type'], number>>> = {
  text: 200,
  textarea: 20_000,
  number: 12,
}

/** The most characters of a field. */
export function limitOf(field: FormField): number {
  if (field.max_length && field.max_length > 0) return field.max_length
  return defaultLimits[field.type] ?? Number.POSITIVE_INFINITY
}

/** Characters as the server counts them: code points, with every line end as one. */
export function lengthOf(value: string): number {
  return [...value.replace(/\r\n?/g, '\n')].length
}

/** The values with a choice for every required select: the first option unless one is chosen. */
export function withDefaults(skill: Skill, values: FormValues): FormValues {
  const chosen = { ...values }
  for (const { name, type, required, options = [] } of skill.form_fields) {
    const first = options[0]
    if (type === 'select' && required && first !== undefined && !options.includes(chosen[name] ?? ''))
      chosen[name] = first
  }
  return chosen
}

/** What is wrong with each field, in words; empty when all is well. The server checks the same again. */
export function checkForm(skill: Skill, values: FormValues): Readonly<Record<string, string>> {
  const wrong = skill.form_fields.flatMap((field) => {
    const message = check(field, values[field.name] ?? '')
    return message === '' ? [] : [[field.name, message]]
  })
  return Object.fromEntries(wrong.length > 0 ? wrong : checkOriginal(skill, values))
}

/** The fields of which exactly one is to be filled in: what is proofread is a text or a file. */
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

/** Digits as a Japanese keyboard writes them, as plain ones. */
function halfWidth(value: string): string {
  return value
    .trim()
    .replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0))
    .replace('．', '.')
    .replace(/[－−]/, '-')
}

function shortValue({ type }: FormField, value: string, fileName: (id: string) => string): string {
  if (type === 'file') return fileName(value)
  if (type === 'date') return value.replace(/^(\d+)-0?(\d+)-0?(\d+)$/, '$1年$2月$3日')
  return type === 'number' ? halfWidth(value) : value.split(/\s+/).join(' ')
}

/** The values that are sent: blank ones are left out. */
export function filled(skill: Skill, values: FormValues): FormValues {
  return Object.fromEntries(
    skill.form_fields
      .map((field) => [field.name, values[field.name] ?? ''] as const)
      .filter(([, value]) => value.trim() !== ''),
  )
}

/** The question as the thread will show it, before the server has said so. `fileName` names a data source. */
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
