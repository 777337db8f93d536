import { describe, expect, it } from 'vitest'
import type { Category, Skill, Thread } from '@/lib/api'
import { shownSkills } from './select'

const skill = (id: string, category_id: string) =>
  ({ id, name: id, description: '', keywords: [], category_id }) as unknown as Skill
const thread = (skillId: string) => ({ id: `t-${skillId}`, skill: { id: skillId } }) as Thread
const categories = ['c1', 'c2'].map((id, position): Category => ({ id, name: id, position, editable: false }))
const skills = [skill('x', 'none'), skill('a', 'c2'), skill('b', 'c1'), skill('c', 'c1'), skill('d', 'c2')]
const all = { query: '', category: '' }

function show(used: string[], choice = all): string[] {
  return shownSkills(skills, categories, used.map(thread), choice).map(({ id }) => id)
}

describe('the skills of the page', () => {
  it('are in the order of their categories, those without a known one last', () => {
    expect(show([])).toEqual(['b', 'c', 'a', 'd', 'x'])
  })

  it('begin with at most four recently used ones, the latest first, each once', () => {
    expect(show(['d', 'deleted', 'a', 'd'])).toEqual(['d', 'a', 'b', 'c', 'x'])
    expect(show(['x', 'd', 'a', 'c', 'b'])).toEqual(['x', 'd', 'a', 'c', 'b'])
  })

  it('can be limited to a category and to a query', () => {
    expect(show(['x', 'd'], { query: '', category: 'c2' })).toEqual(['d', 'a'])
    expect(show(['x', 'd'], { query: 'c', category: '' })).toEqual(['c'])
  })
})
