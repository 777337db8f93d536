import type { ToolInput, ToolInputField, ToolInputResponse } from '@/lib/api'
import { halfWidth } from '@/lib/ui/halfWidth'
import { texts as cardTexts } from './approvalTexts'

const texts = cardTexts.inputs

/** The value of a field as it is entered. A checkbox is `true` or `false`, and several choices are a list. */
export type InputValue = string | readonly string[]

/** The values of forms, by `pathOf`. */
export type InputValues = Readonly<Record<string, InputValue>>

/** textOf returns the value of a field with one value. */
export const textOf = (value: InputValue | undefined): string => (typeof value === 'string' ? value : '')

/** choicesOf returns the value of a field with several choices. */
export const choicesOf = (value: InputValue | undefined): readonly string[] =>
  typeof value === 'object' ? value : []

/** pathOf returns the path of a field, as in the server's errors. */
export const pathOf = (form: string, { name }: ToolInputField) => `${form}.${name}`

const paths = ({ forms }: ToolInput) =>
  forms.flatMap(({ id, fields }) => fields.map((field) => [pathOf(id, field), field] as const))

/** initialInput returns the values that the tool suggests. */
export function initialInput(input: ToolInput): InputValues {
  return Object.fromEntries(
    paths(input).map(([path, field]): [string, InputValue] => {
      if (field.type === 'choices') return [path, Array.isArray(field.default) ? field.default : []]
      const value = field.default === undefined ? '' : String(field.default)
      return [path, field.format === 'date-time' && value !== '' ? localTime(value) : value]
    }),
  )
}

/** checkInput returns the error of each invalid value; empty if all are valid. The server validates again. */
export function checkInput(input: ToolInput, values: InputValues): Readonly<Record<string, string>> {
  return Object.fromEntries(
    paths(input).flatMap(([path, field]) => {
      const value = values[path]
      const message =
        field.type === 'choices' ? checkChoices(field, choicesOf(value)) : check(field, textOf(value))
      return message === '' ? [] : [[path, message]]
    }),
  )
}

function checkChoices(field: ToolInputField, { length }: readonly string[]): string {
  const { required, min_items = 0, max_items = 0 } = field
  if (length === 0 && !required) return ''
  if (length < min_items) return texts.tooFew(min_items)
  return max_items > 0 && length > max_items ? texts.tooMany(max_items, length) : ''
}

function check(field: ToolInputField, value: string): string {
  const { type, required, min_length = 0, max_length = 0, minimum, maximum } = field
  if (type === 'boolean') return ''
  if (value === '') {
    if (!required) return ''
    return type === 'choice' ? texts.choose : texts.required
  }
  if (type === 'choice') return ''
  if (type === 'string') {
    const length = [...value].length
    if (max_length > 0 && length > max_length) return texts.tooLong(max_length, length)
    return length < min_length ? texts.tooShort(min_length) : ''
  }
  const digits = halfWidth(value)
  const number = Number(digits)
  if (digits === '' || !Number.isFinite(number)) return texts.number
  if (type === 'integer' && !Number.isSafeInteger(number)) return texts.integer
  if (minimum !== undefined && number < minimum) return texts.minimum(minimum)
  return maximum !== undefined && number > maximum ? texts.maximum(maximum) : ''
}

/**
 * toResponse returns valid values as the response to a tool. Empty values are left out, except for several choices that
 * may be none.
 */
export function toResponse(input: ToolInput, values: InputValues): ToolInputResponse {
  const formOf = (form: ToolInput['forms'][number]) =>
    Object.fromEntries(
      form.fields
        .map((field) => [field.name, toValue(field, values[pathOf(form.id, field)])] as const)
        .filter(([, value]) => value !== undefined),
    )
  return { action: 'accept', values: Object.fromEntries(input.forms.map((form) => [form.id, formOf(form)])) }
}

function toValue(
  { type, format, min_items = 0 }: ToolInputField,
  entered: InputValue | undefined,
): InputValue | number | boolean | undefined {
  const value = textOf(entered)
  if (type === 'choices') {
    const chosen = choicesOf(entered)
    return chosen.length === 0 && min_items > 0 ? undefined : chosen
  }
  if (type === 'boolean') return value === 'true'
  if (value === '') return undefined
  if (type === 'integer' || type === 'number') return Number(halfWidth(value))
  return format === 'date-time' ? new Date(value).toISOString() : value
}

/** localTime returns an RFC 3339 time as the value of an input for local times. */
function localTime(value: string): string {
  const at = new Date(value)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
