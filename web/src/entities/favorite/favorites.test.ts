import { QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { api, type FavoriteSkill, type Skill } from '@/lib/api'
import { itemsOf } from '@/lib/api/lists'
import { queryClient, skillsQuery } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import { favoritesQuery, setFavorite } from './favorites'

const skill = { id: 's', name: '要約', icon_path: '/i.svg', is_favorite: false } as Skill
const starred = () => queryClient.getQueryData(skillsQuery.queryKey)?.map((item) => item.is_favorite)
const listed = () => itemsOf(favoritesQuery).map((item) => item.id)
const settle = () => new Promise((resolve) => setTimeout(resolve))

/** held makes the next call of an API function wait for the test's response. */
function held<T>(name: 'addFavoriteSkill' | 'removeFavoriteSkill' | 'listFavoriteSkills' | 'listAll') {
  const answers: { give: (value: T) => void; refuse: (cause: Error) => void }[] = []
  vi.spyOn(api, name).mockImplementation(
    () => new Promise<never>((resolve, reject) => answers.push({ give: resolve as never, refuse: reject })),
  )
  return answers
}

describe('a favourite', () => {
  beforeEach(async () => {
    queryClient.clear()
    queryClient.setQueryData(skillsQuery.queryKey, [skill])
    vi.spyOn(api, 'listFavoriteSkills').mockResolvedValue([])
    await queryClient.fetchInfiniteQuery(favoritesQuery)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('is shown at once, and reverted on failure', async () => {
    const [adding] = [held<undefined>('addFavoriteSkill')]
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
      const adding = held<undefined>('addFavoriteSkill')
      const lists = held<FavoriteSkill[]>('listFavoriteSkills')
      const skills = held<Skill[]>('listAll')
      const stop = new QueryObserver(queryClient, skillsQuery).subscribe(() => {})
      void queryClient.invalidateQueries({ queryKey: skillsQuery.queryKey })
      const done = setFavorite(skill, true)
      const opened = queryClient.fetchInfiniteQuery(favoritesQuery)
      await vi.waitFor(() => expect([lists.length, skills.length, adding.length]).toEqual([1, 1, 1]))
      if (when === 'after it') adding[0]?.give(undefined)
      else {
        lists[0]?.give([])
        skills[0]?.give([skill])
      }
      await settle()
      adding[0]?.give(undefined)
      lists[0]?.give([])
      skills[0]?.give([skill])
      await Promise.all([opened, done, settle()])
      expect([starred(), listed()]).toEqual([[true], ['s']])
      stop()
    },
  )

  it('keeps the last choice, and sends the changes in order', async () => {
    const adding = held<undefined>('addFavoriteSkill')
    const removing = held<undefined>('removeFavoriteSkill')
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
