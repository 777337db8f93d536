import { expect, it } from 'vitest'
import { type Decisions, decisionsOf, requestOf, withChange } from './decisions'

const decisions = (standard: string, allowed: string): Decisions => ({
  default_id: standard,
  models: ['a', 'b', 'c'].map((id) => ({
    id,
    allowed: allowed.includes(id),
    name: '',
    note: '',
    groups: [],
  })),
})

it('keeps the default among the models that all members may choose', () => {
  const withAllowed = (before: Decisions, id: string, allowed: boolean) => withChange(before, id, { allowed })
  expect(withAllowed(decisions('a', 'a'), 'b', true)).toEqual(decisions('a', 'ab'))
  expect(withAllowed(decisions('a', 'abc'), 'a', false)).toEqual(decisions('b', 'bc'))
  expect(withAllowed(decisions('c', 'ac'), 'a', false)).toEqual(decisions('c', 'c'))
  // No allowed model is left. The next allowed one becomes the default.
  expect(withAllowed(decisions('c', 'c'), 'c', false)).toEqual(decisions('c', ''))
  expect(withAllowed(decisions('c', ''), 'b', true)).toEqual(decisions('b', 'b'))
  // Not all members may choose b.
  const groups = [{ id: 'g', name: '法務' }]
  expect(withAllowed(withChange(decisions('a', 'abc'), 'b', { groups }), 'a', false).default_id).toBe('c')
  // No model is left for all members, until they may choose b.
  const none = withAllowed(withChange(decisions('a', 'ab'), 'b', { groups }), 'a', false)
  expect(withChange(none, 'b', { groups: [] })).toEqual(decisions('b', 'b'))
})

it('sends the organization’s settings for each model', () => {
  const model = { provider: 'p', given_name: 'A', available: null, sees: true, context_tokens: 8000 }
  const loaded = {
    default_id: 'a',
    models: [
      { ...model, id: 'a', allowed: true, note: '速い', thinking: 'switch' as const, groups: [] },
      { ...model, id: 'b', allowed: true, thinking: 'none' as const, groups: [{ id: 'g', name: '法務' }] },
    ],
  }
  expect(requestOf(decisionsOf(loaded))).toEqual({
    default_id: 'a',
    models: [
      { id: 'a', allowed: true, name: '', note: '速い', group_ids: [] },
      { id: 'b', allowed: true, name: '', note: '', group_ids: ['g'] },
    ],
  })
})
