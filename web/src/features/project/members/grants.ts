import type { ProjectGrant, ProjectGrantInput, ProjectSubject, ProjectSubjectInput } from '@/lib/api'

/** Role is a role in a project. */
export type Role = ProjectGrant['role']

/** The roles, from the weakest to the strongest. */
export const roles: readonly Role[] = ['viewer', 'editor', 'manager']

/** The subject of the grant for all members of the organization. */
export const everyone: ProjectSubject = { kind: 'organization', id: '', name: '' }

/** withGrant returns the grants after a subject's role is replaced; null removes it. */
export function withGrant(
  grants: readonly ProjectGrantInput[],
  subject: ProjectSubjectInput,
  role: Role | null,
): readonly ProjectGrantInput[] {
  const index = grants.findIndex((grant) => isOf(grant, subject))
  if (role === null) return grants.filter((_, at) => at !== index)
  if (index < 0) return [...grants, { subject, role }]
  return grants.map((grant, at) => (at === index ? { ...grant, role } : grant))
}

/** hasGrant reports whether a subject has a role. */
export function hasGrant(grants: readonly ProjectGrantInput[], subject: ProjectSubjectInput): boolean {
  return grants.some((grant) => isOf(grant, subject))
}

/** isOf reports whether a grant is for a subject. */
function isOf({ subject: { kind, id } }: ProjectGrantInput, subject: ProjectSubjectInput): boolean {
  return kind === subject.kind && (kind === 'organization' || id === subject.id)
}

/** sortGrants sorts grants for display: all members of the organization, groups, then members, each by name. */
export function sortGrants(grants: readonly ProjectGrant[]): readonly ProjectGrant[] {
  const kinds = ['organization', 'group', 'user']
  const byName = new Intl.Collator('ja')
  return [...grants].sort(
    ({ subject: a }, { subject: b }) =>
      kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || byName.compare(a.name, b.name),
  )
}
