import type { Contract, ContractStatus } from '@/lib/api'
import { daysUntil, endOfDayInJapan } from '../format'

/** The number of whole days of a contract after today, by days in Japan; negative once it is over. */
export function daysLeft({ ends_on }: Pick<Contract, 'ends_on'>, now = Date.now()): number {
  return ends_on === undefined ? Number.POSITIVE_INFINITY : daysUntil(endOfDayInJapan(ends_on), now)
}

/** The effective status of a contract: after its last day it has ended, whatever the record says. */
export function statusOf(contract: Pick<Contract, 'status' | 'ends_on'>, now = Date.now()): ContractStatus {
  return daysLeft(contract, now) < 0 ? 'ended' : contract.status
}
