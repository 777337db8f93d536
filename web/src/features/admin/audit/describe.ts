import type { AuditEvent } from '@/lib/api'
import { formatDay, formatFull } from '@/lib/ui/dates'
import { formatNumber } from '@/lib/ui/numbers'
import { audit as words } from '../texts'

/** The actor for display; `account` is a member's address, or an operator's account on the server. */
export function actorOf(event: AuditEvent): { name: string; account: string | undefined } {
  const { actor_kind, actor_name, actor_email } = event
  if (actor_kind === 'unknown') return { name: words.unknown, account: undefined }
  if (actor_kind === 'system') return { name: words.system, account: undefined }
  if (actor_kind === 'operator') return { name: words.operator, account: actor_name }
  if (actor_kind === 'provisioning') return { name: words.provisioning(actor_name ?? ''), account: undefined }
  return { name: actor_name || actor_email || '', account: actor_name && actor_email }
}

/** actionOf returns the action in a few words, or the name of an unknown action. */
export function actionOf(action: string): string {
  return words.actions[action] ?? action
}

/** targetOf returns the target. The log has no address for a sign-in attempt with an unknown address. */
export function targetOf(event: AuditEvent): string {
  return event.target_label || (event.actor_kind === 'unknown' ? words.nobody : '')
}

/** changesOf returns the changes, one line per field, as in 「役割：一般ユーザー → 管理者」, and the number of occurrences. */
export function changesOf(event: AuditEvent): string[] {
  const times = event.last_at ? [words.times(formatNumber(event.times), formatFull(event.last_at))] : []
  return [...fieldsOf(event), ...times]
}

function fieldsOf(event: AuditEvent): string[] {
  return event.details.map(({ field, before, after }) => {
    const label = words.fields[field] ?? field
    const from = wordOf(field, before)
    const to = wordOf(field, after)
    if (from !== undefined && to !== undefined) return words.changed(label, from, to)
    // A change has an old and a new value; a creation or removal has only one.
    if (event.action.endsWith('.edit') || event.action.endsWith('.set'))
      return words.changed(label, from ?? words.empties.before, to ?? words.empties.after)
    return words.set(label, to ?? from ?? '')
  })
}

function wordOf(field: string, value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  const known = words.values[field]?.[value]
  if (known !== undefined) return known
  switch (field) {
    case 'seats':
    case 'tokens':
    case 'token_limit':
    case 'retention_days':
    case 'threads':
      return isCount(value) ? formatNumber(Number(value)) : value
    case 'idp_certificates':
      return isCount(value) ? words.count(value) : value
    case 'starts_on':
    case 'ends_on':
      return /^\d{4}-\d{2}-\d{2}$/.test(value) ? formatDay(value) : value
    case 'active_from':
    case 'old_until':
    case 'published_at':
    case 'ends_at':
      return formatFull(value) || value
    default:
      return value
  }
}

function isCount(value: string): boolean {
  return /^\d+$/.test(value)
}
