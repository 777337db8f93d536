import { redirect } from 'react-router'
import { meQuery, queryClient } from '@/lib/api/queries'
import { contractQuery, memberLimitQuery, samlQuery, slackQuery } from './queries'

/** Starts loading the contract; skeletons are shown until it has arrived. */
export function contractLoader(): null {
  void queryClient.prefetchQuery(contractQuery)
  return null
}

/** Starts loading the data around the list of members. */
export function membersLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  void queryClient.prefetchQuery(memberLimitQuery)
  return contractLoader()
}

/** Starts loading the single sign-on settings. */
export function samlLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  return null
}

/** Starts loading the settings of Slack. */
export function slackLoader(): null {
  void queryClient.prefetchQuery(slackQuery)
  return null
}

/**
 * The edit page of single sign-on is for super-admins; other administrators are redirected to the page that shows it.
 */
export async function samlEditLoader(): Promise<null> {
  const { role } = await queryClient.ensureQueryData(meQuery)
  if (role !== 'organization-super-admin') throw redirect('/admin/saml')
  return samlLoader()
}
