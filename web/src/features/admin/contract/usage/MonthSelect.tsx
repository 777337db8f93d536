import { Select } from '@/components/Field'
import { contract } from '../../texts'
import { lastMonths } from './usage'

const words = contract.byModel

/** Chooses a month, or the last 30 days (''). */
export function MonthSelect({
  today,
  month,
  onChange,
}: {
  today: string
  month: string
  onChange: (month: string) => void
}) {
  return (
    <Select
      label={words.period}
      hideLabel
      value={month}
      onChange={(event) => onChange(event.target.value)}
      options={lastMonths(today).map((name) => [
        name,
        words.month(name.slice(0, 4), String(Number(name.slice(5)))),
      ])}
    >
      <option value="">{words.recent}</option>
    </Select>
  )
}
