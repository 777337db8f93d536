import type { Contract, ContractStatus } from '@/lib/api'
import { daysUntil, endOfDayInJapan } from '../format'

/** How many whole days a contract still has after today, by Japan's days; negative once it is over. */
export function daysLeft({ ends_on }: Pick<Contract, 'ends_on'>, now = Date.now()): number {
  return ends_on === undefined ? Number.POSITIVE_INFINITY : daysUntil(endOfDayInJapan(ends_on), now)
}

/** The status of a contract as its members feel it: past its last day it has ended, whatever it says. */
export function statusOf(contract: Pick<Contract, 'status' | 'ends_on'>, now = Date.now()): ContractStatus {
  return daysLeft(contract, now) < 0 ? 'ended' : contract.status
}
