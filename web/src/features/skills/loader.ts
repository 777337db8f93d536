import { categoriesQuery, notificationsQuery, queryClient, skillsQuery } from '@/lib/api/queries'

/** Starts loading skills, categories and notices; skeletons are shown until they have arrived. */
export function skillsLoader(): null {
  void queryClient.prefetchQuery(skillsQuery)
  void queryClient.prefetchQuery(categoriesQuery)
  void queryClient.prefetchQuery(notificationsQuery)
  return null
}
