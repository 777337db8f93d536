import { api, type FavoriteSkill, type Skill } from './api'
import { PagedList } from './pagedList'
import { queryClient, skillQuery, skillsQuery } from './queries'
import { toastFailure } from './toast'

/** How many favourites a page has. */
export const FAVORITE_PAGE = 10

/** The user's favourite skills, newest first. */
export const favoriteList = new PagedList<FavoriteSkill>(FAVORITE_PAGE, (page) =>
  api.listFavoriteSkills(page),
)

/** Puts a skill on the favourites or takes it off, here at once; a failure puts it back and says so. */
export async function setFavorite(
  skill: Pick<Skill, 'id' | 'name' | 'icon_path'>,
  favorite: boolean,
): Promise<void> {
  mark(skill, favorite)
  try {
    await (favorite ? api.addFavoriteSkill(skill.id) : api.removeFavoriteSkill(skill.id))
  } catch {
    mark(skill, !favorite)
    const message = favorite ? 'お気に入りに追加できませんでした。' : 'お気に入りから外せませんでした。'
    toastFailure(message, () => void setFavorite(skill, favorite))
  }
}

function mark(skill: Pick<Skill, 'id' | 'name' | 'icon_path'>, favorite: boolean): void {
  const change = (item: Skill): Skill => (item.id === skill.id ? { ...item, is_favorite: favorite } : item)
  queryClient.setQueryData(skillsQuery.queryKey, (items) => items?.map(change))
  queryClient.setQueryData(skillQuery(skill.id).queryKey, (item) => item && change(item))
  favoriteList.update((items) => {
    const others = items.filter((item) => item.id !== skill.id)
    return favorite ? [{ id: skill.id, name: skill.name, icon_path: skill.icon_path }, ...others] : others
  })
}
