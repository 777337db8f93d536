import { redirect } from 'react-router'
import { meQuery, queryClient } from '@/lib/api/queries'
import { contractQuery, samlQuery } from './queries'

/** Begins to read the contract; skeletons stand in until it has come. */
export function contractLoader(): null {
  void queryClient.prefetchQuery(contractQuery)
  return null
}

/** Begins to read what stands around the list of members. */
export function membersLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  return contractLoader()
}

/** Begins to read the single sign-on. */
export function samlLoader(): null {
  void queryClient.prefetchQuery(samlQuery)
  return null
}

/** The edit page of the single sign-on is the super-admins'; other administrators go to where they can read it. */
export async function samlEditLoader(): Promise<null> {
  const { role } = await queryClient.ensureQueryData(meQuery)
  if (role !== 'organization-super-admin') throw redirect('/admin/saml')
  return samlLoader()
}
