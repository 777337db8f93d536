import { useQuery } from '@tanstack/react-query'
import { Select, TextField } from '@/components/Field'
import type { MemberTokens } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { memberLimitQuery } from '../queries'
import { editing } from '../texts'
import type { LimitValues } from './limit'

const words = editing.limit

interface LimitFieldProps {
  values: LimitValues
  disabled: boolean
  error: string | undefined
  onChange: (next: Partial<LimitValues>) => void
}

/** The monthly token limit of a member. */
export function LimitField({ values, disabled, error, onChange }: LimitFieldProps) {
  const { data } = useQuery(memberLimitQuery)
  const all = data && (data.tokens === undefined ? words.none : words.count(formatNumber(data.tokens)))
  return (
    <>
      <Select
        label={words.label}
        hint={words.hint}
        value={values.rule}
        disabled={disabled}
        onChange={(event) => onChange({ rule: event.target.value as MemberTokens['rule'] })}
      >
        <option value="default">{words.byDefault(all)}</option>
        <option value="own">{words.own}</option>
        <option value="none">{words.none}</option>
      </Select>
      {values.rule === 'own' && (
        <TextField
          label={words.tokens}
          value={values.tokens}
          disabled={disabled}
          inputMode="numeric"
          autoComplete="off"
          maxLength={30}
          error={error}
          onChange={(event) => onChange({ tokens: event.target.value })}
        />
      )}
    </>
  )
}
