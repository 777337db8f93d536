import { call, type FavoriteSkill, type Skill } from '@/lib/api'
import { changeItems, listQuery } from '@/lib/api/lists'
import { changeData, skillQuery, skillsQuery } from '@/lib/api/queries'
import { toastFailure } from '@/lib/ui/toast'

/** FAVORITE_PAGE is the number of favourites in a page. */
const FAVORITE_PAGE = 10

/**
 * favoritesQuery loads the user's favourite skills, newest first. They are reloaded whenever they are shown, because
 * the server sends no events for them.
 */
export const favoritesQuery = {
  ...listQuery<FavoriteSkill>(['favorites'], FAVORITE_PAGE, (page) => call('listFavoriteSkills', page)),
  staleTime: 0,
}

/** The last requested state, by skill. */
const wanted = new Map<string, boolean>()
let sending: Promise<unknown> = Promise.resolve()

/** setFavorite adds or removes a favourite optimistically. On failure, it reverts the change and shows a message. */
export async function setFavorite(
  skill: Pick<Skill, 'id' | 'name' | 'icon_path'>,
  favorite: boolean,
): Promise<void> {
  wanted.set(skill.id, favorite)
  mark(skill, favorite)
  // Send the changes one at a time, because the server must receive them in order.
  const sent = sending.then(() =>
    call(favorite ? 'addFavoriteSkill' : 'removeFavoriteSkill', { body: { skill_id: skill.id } }),
  )
  sending = sent.catch(() => {})
  try {
    await sent
    // The response of an earlier request may have arrived in the meantime.
    if (wanted.get(skill.id) === favorite) mark(skill, favorite)
  } catch {
    if (wanted.get(skill.id) === favorite) mark(skill, !favorite)
    const message = favorite ? 'お気に入りに追加できませんでした。' : 'お気に入りから外せませんでした。'
    toastFailure(message, () => void setFavorite(skill, favorite))
  }
}

function mark(skill: Pick<Skill, 'id' | 'name' | 'icon_path'>, favorite: boolean): void {
  const change = (item: Skill): Skill => (item.id === skill.id ? { ...item, is_favorite: favorite } : item)
  changeData<Skill[]>(skillsQuery.queryKey, (items) => items.map(change))
  changeData<Skill>(skillQuery(skill.id).queryKey, change)
  changeItems(favoritesQuery, (items) => {
    if (favorite && items.some((item) => item.id === skill.id)) return items
    const others = items.filter((item) => item.id !== skill.id)
    return favorite ? [{ id: skill.id, name: skill.name, icon_path: skill.icon_path }, ...others] : others
  })
}
