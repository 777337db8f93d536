import { TriangleAlert } from 'lucide-react'
import { Chip } from '@/components/Chip'
import { TextField } from '@/components/Field'
import type { OrganizationModel } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { formatNumber } from '@/lib/ui/numbers'
import { models as words } from '../texts'
import { type Decision, isForAll } from './decisions'
import { ModelGroups } from './ModelGroups'
import styles from './ModelsPage.module.css'

interface ModelLineProps {
  readonly model: OrganizationModel
  readonly decision: Decision
  readonly standard: boolean
  readonly onStandard: () => void
  readonly onChange: (change: Partial<Decision>) => void
}

function money(amount: number, { currency }: { currency: string }): string {
  return amount.toLocaleString('ja-JP', {
    style: 'currency',
    currency,
    currencyDisplay: 'name', // 37.5円, 0.25米ドル
    maximumFractionDigits: 4,
  })
}

/** A model of the server, with the organization's settings for it. */
export function ModelLine({ model, decision, standard, onStandard, onChange }: ModelLineProps) {
  const { provider, given_name, given_note, available, sees, thinking, context_tokens, price } = model
  const { allowed, name, note, groups } = decision
  const abilities = [sees && words.sees, words.thinking[thinking]].filter((ability) => !!ability)
  return (
    <tr>
      <th scope="row" className={styles.model}>
        <span className={styles.name}>{given_name}</span>
        <small>
          {[provider, context_tokens > 0 && words.context(formatNumber(context_tokens))]
            .filter(Boolean)
            .join('・')}
        </small>
        {price && <small>{words.price(money(price.input, price), money(price.output, price))}</small>}
        {abilities.length > 0 && (
          <span className={styles.abilities}>
            {abilities.map((ability) => (
              <Chip key={String(ability)}>{ability}</Chip>
            ))}
          </span>
        )}
        {available !== true && (
          <small className={available === false ? styles.missing : undefined}>
            {available === false && <TriangleAlert size={14} aria-hidden />}
            {available === false ? words.missing : words.unknown}
          </small>
        )}
      </th>
      <td data-label={words.allowed}>
        <Checkbox
          aria-label={words.allow(given_name)}
          checked={allowed}
          onChange={(event) => onChange({ allowed: event.target.checked })}
        />
      </td>
      <td data-label={words.standard}>
        <input
          type="radio"
          name="default-model"
          aria-label={words.makeStandard(given_name)}
          checked={standard && allowed}
          disabled={!isForAll(decision)}
          onChange={onStandard}
        />
      </td>
      <td data-label={words.groups.label}>
        <ModelGroups
          model={given_name}
          groups={groups}
          disabled={!allowed || standard}
          onChange={(next) => onChange({ groups: next })}
        />
      </td>
      <td>
        <div className={styles.fields}>
          <TextField
            label={words.nameOf(given_name)}
            hideLabel
            placeholder={given_name}
            maxLength={40}
            value={name}
            disabled={!allowed}
            onChange={(event) => onChange({ name: event.target.value })}
          />
          <TextField
            label={words.noteOf(given_name)}
            hideLabel
            placeholder={given_note || words.notePlaceholder}
            maxLength={60}
            value={note}
            disabled={!allowed}
            onChange={(event) => onChange({ note: event.target.value })}
          />
        </div>
      </td>
    </tr>
  )
}
