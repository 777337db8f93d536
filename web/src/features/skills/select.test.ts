import { describe, expect, it } from 'vitest'
import type { Category, Skill, Thread } from '@/lib/api'
import { inCategories, recentSkills } from './select'

const skill = (id: string, category_id = 'c1') => ({ id, name: id, category_id }) as Skill
const thread = (skillId: string) => ({ id: `t-${skillId}`, skill: { id: skillId } }) as Thread
const category = (id: string, position: number): Category => ({ id, name: id, position, editable: false })

describe('the skills of the page', () => {
  it('used last come first, each once, at most four, none that is gone', () => {
    const skills = ['a', 'b', 'c', 'd', 'e'].map((id) => skill(id))
    const threads = ['c', 'gone', 'a', 'c', 'e', 'd', 'b'].map(thread)
    expect(recentSkills(skills, threads).map(({ id }) => id)).toEqual(['c', 'a', 'e', 'd'])
  })

  it('stand under their categories; those without a known one come last', () => {
    const skills = [skill('a', 'c2'), skill('b', 'c1'), skill('x', 'none')]
    const groups = inCategories(skills, [category('c1', 0), category('c2', 1), category('empty', 2)])
    expect(groups.map(({ name, skills }) => [name, skills.map(({ id }) => id)])).toEqual([
      ['c1', ['b']],
      ['c2', ['a']],
      ['その他', ['x']],
    ])
  })
})
