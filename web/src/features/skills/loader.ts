import { categoriesQuery, notificationsQuery, queryClient, skillsQuery } from '@/lib/api/queries'

/** Starts reading skills, categories and notices; skeletons stand in until they have come. */
export function skillsLoader(): null {
  void queryClient.prefetchQuery(skillsQuery)
  void queryClient.prefetchQuery(categoriesQuery)
  void queryClient.prefetchQuery(notificationsQuery)
  return null
}
