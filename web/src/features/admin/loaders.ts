import { redirect } from 'react-router'
import { meQuery, queryClient } from '@/lib/api/queries'
import { contractQuery, memberLimitQuery, oidcQuery, samlQuery, slackQuery } from './queries'

/** contractLoader starts loading the contract. The page shows placeholders meanwhile. */
export function contractLoader(): null {
  void queryClient.prefetchQuery(contractQuery)
  return null
}

/** membersLoader starts loading the data for the list of members. */
export function membersLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  void queryClient.prefetchQuery(oidcQuery)
  void queryClient.prefetchQuery(memberLimitQuery)
  return contractLoader()
}

/** Starts loading the single sign-on settings. */
export function samlLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  void queryClient.prefetchQuery(oidcQuery)
  return null
}

/** Starts loading the settings of Slack. */
export function slackLoader(): null {
  void queryClient.prefetchQuery(slackQuery)
  return null
}

/**
 * samlEditLoader admits super-admins to the edit page of single sign-on. It redirects other administrators to the page
 * with the settings.
 */
export async function samlEditLoader(): Promise<null> {
  const { role } = await queryClient.ensureQueryData(meQuery)
  if (role !== 'organization-super-admin') throw redirect('/admin/saml')
  return samlLoader()
}
