import { useQuery } from '@tanstack/react-query'
import { Select, TextField } from '@/components/Field'
import { type Fields, fieldOf } from '@/lib/ui/form'
import { formatNumber } from '@/lib/ui/numbers'
import { memberLimitQuery } from '../queries'
import { editing } from '../texts'
import type { LimitValues } from './limit'

const words = editing.limit

/** The monthly token limit of a member. */
export function LimitField({ disabled, fields }: { disabled: boolean; fields: Fields<LimitValues> }) {
  const { data } = useQuery(memberLimitQuery)
  const all = data && (data.tokens === undefined ? words.none : words.count(formatNumber(data.tokens)))
  return (
    <>
      <Select
        label={words.label}
        hint={words.hint}
        disabled={disabled}
        {...fieldOf(fields, 'rule')}
        options={[
          ['default', words.byDefault(all)],
          ['own', words.own],
          ['none', words.none],
        ]}
      />
      {fields.values.rule === 'own' && (
        <TextField
          label={words.tokens}
          disabled={disabled}
          inputMode="numeric"
          autoComplete="off"
          maxLength={30}
          {...fieldOf(fields, 'tokens')}
        />
      )}
    </>
  )
}
