import { expect, it } from 'vitest'
import type { ProjectGrant } from '@/lib/api'
import { everyone, sortGrants, withGrant } from './grants'

const user = (id: string, role: ProjectGrant['role'] = 'viewer'): ProjectGrant => ({
  subject: { kind: 'user', id, name: id },
  role,
})
const group: ProjectGrant = { subject: { kind: 'group', id: 'a', name: '営業部' }, role: 'editor' }

it('gives a subject one role, and takes it away', () => {
  const grants = [user('a', 'manager'), user('b')]
  expect(withGrant(grants, { kind: 'user', id: 'b' }, 'editor')[1]).toMatchObject({ role: 'editor' })
  // A group with the same id is another subject.
  expect(withGrant(grants, group.subject, 'viewer')).toHaveLength(3)
  expect(withGrant(grants, { kind: 'user', id: 'b' }, null)).toEqual([grants[0]])
  expect(withGrant(grants, { kind: 'user', id: 'x' }, null)).toEqual(grants)
})

it('has one grant for the whole organization', () => {
  const open = withGrant([user('a', 'manager')], everyone, 'viewer')
  expect(open).toHaveLength(2)
  expect(withGrant(open, { kind: 'organization', id: 'o' }, 'editor')).toMatchObject([
    { role: 'manager' },
    { role: 'editor' },
  ])
})

it('sorts the organization and groups before members', () => {
  const organization: ProjectGrant = {
    subject: { kind: 'organization', id: 'o', name: '組織' },
    role: 'viewer',
  }
  const sorted = sortGrants([user('い'), user('あ'), group, organization])
  expect(sorted.map(({ subject }) => subject.name)).toEqual(['組織', '営業部', 'あ', 'い'])
})
