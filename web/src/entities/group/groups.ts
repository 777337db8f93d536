import { call, type SkillGroup } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'

/** groupsQuery searches groups of members by name. */
export function groupsQuery(q: string) {
  return listQuery<SkillGroup>(['groups', q], 20, (page, signal) =>
    call('listGroups', { q, ...page, signal }),
  )
}
