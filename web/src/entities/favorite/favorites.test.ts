import { QueryObserver } from '@tanstack/react-query'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { FavoriteSkill, Skill } from '@/lib/api'
import { itemsOf } from '@/lib/api/lists'
import { queryClient, skillsQuery } from '@/lib/api/queries'
import { answerCalls } from '@/lib/api/testing'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import { favoritesQuery, setFavorite } from './favorites'

const skill = { id: 's', name: '要約', icon_path: '/i.svg', is_favorite: false } as Skill
const starred = () => queryClient.getQueryData(skillsQuery.queryKey)?.map((item) => item.is_favorite)
const listed = () => itemsOf(favoritesQuery).map((item) => item.id)
const settle = () => new Promise((resolve) => setTimeout(resolve))

interface Held<T> {
  readonly give: (value: T) => void
  readonly refuse: (cause: Error) => void
}

/** The pending calls, which wait for the test's response. */
const adding: Held<undefined>[] = []
const removing: Held<undefined>[] = []
const lists: Held<{ items: FavoriteSkill[] }>[] = []
const skills: Held<{ items: Skill[] }>[] = []

function hold<T>(calls: Held<T>[]): () => Promise<T> {
  calls.length = 0
  return () => new Promise((give, refuse) => calls.push({ give, refuse }))
}

describe('a favourite', () => {
  beforeEach(async () => {
    queryClient.clear()
    queryClient.setQueryData(skillsQuery.queryKey, [skill])
    answerCalls({ listFavoriteSkills: () => ({ items: [] }) })
    await queryClient.fetchInfiniteQuery(favoritesQuery)
    answerCalls({
      addFavoriteSkill: hold(adding),
      removeFavoriteSkill: hold(removing),
      listFavoriteSkills: hold(lists),
      listSkills: hold(skills),
    })
  })

  it('is shown at once, and reverted on failure', async () => {
    const done = setFavorite(skill, true)
    expect([starred(), listed()]).toEqual([[true], ['s']])
    await settle()
    adding[0]?.refuse(new Error('offline'))
    await done
    expect([starred(), listed()]).toEqual([[false], []])
    expect(store.get(toastsAtom).at(-1)?.message).toBe('お気に入りに追加できませんでした。')
  })

  it.each(['before the server has it', 'after it'])(
    'stays one, though lists from before come %s',
    async (when) => {
      const stop = new QueryObserver(queryClient, skillsQuery).subscribe(() => {})
      void queryClient.invalidateQueries({ queryKey: skillsQuery.queryKey })
      const done = setFavorite(skill, true)
      const opened = queryClient.fetchInfiniteQuery(favoritesQuery)
      await vi.waitFor(() => expect([lists.length, skills.length, adding.length]).toEqual([1, 1, 1]))
      if (when === 'after it') adding[0]?.give(undefined)
      else {
        lists[0]?.give({ items: [] })
        skills[0]?.give({ items: [skill] })
      }
      await settle()
      adding[0]?.give(undefined)
      lists[0]?.give({ items: [] })
      skills[0]?.give({ items: [skill] })
      await Promise.all([opened, done, settle()])
      expect([starred(), listed()]).toEqual([[true], ['s']])
      stop()
    },
  )

  it('keeps the last choice, and sends the changes in order', async () => {
    const first = setFavorite(skill, true)
    const second = setFavorite(skill, false)
    await settle()
    expect([adding.length, removing.length]).toEqual([1, 0])
    adding[0]?.give(undefined)
    await first
    expect(starred()).toEqual([false])
    await settle()
    removing[0]?.give(undefined)
    await second
    expect([starred(), listed()]).toEqual([[false], []])
  })
})
