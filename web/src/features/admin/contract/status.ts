import type { Contract, ContractStatus } from '@/lib/api'
import { daysUntil, endOfDayInJapan } from '../format'

/**
 * daysLeft returns the number of whole days of a contract after today, by days in Japan; negative after the contract.
 */
export function daysLeft({ ends_on }: Pick<Contract, 'ends_on'>, now = Date.now()): number {
  return ends_on === undefined ? Number.POSITIVE_INFINITY : daysUntil(endOfDayInJapan(ends_on), now)
}

/** statusOf returns the effective status of a contract. After its last day it has ended, whatever its stored status. */
export function statusOf(contract: Pick<Contract, 'status' | 'ends_on'>, now = Date.now()): ContractStatus {
  return daysLeft(contract, now) < 0 ? 'ended' : contract.status
}
