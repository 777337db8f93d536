import { type LoaderFunctionArgs, redirect } from 'react-router'
import type { Provider } from '@/entities/identity/identity'
import { ApiError, call } from '@/lib/api'
import { findProvider } from './provider'

/** PendingLink is a single sign-on that needs the consent of the account's owner. */
export interface PendingLink {
  organizationId: string
  link: string
  email: string
  /** The user pool that checks the owner's password. */
  provider: Provider
}

/** linkLoader fetches the account to be linked. An expired link redirects to the page of failed sign-ins. */
export async function linkLoader({ request }: LoaderFunctionArgs): Promise<PendingLink | Response> {
  const query = new URL(request.url).searchParams
  const organizationId = query.get('organization_id') ?? ''
  const link = query.get('link') ?? ''
  if (organizationId === '' || link === '') return redirect('/login')
  try {
    const { email } = await call('getSSOLink', { organization_id: organizationId, link })
    return { organizationId, link, email, provider: await findProvider(email) }
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    return redirect(failurePath(cause))
  }
}

/** failurePath returns the path of the page for a failed single sign-on. */
export function failurePath({ code, detail }: ApiError): string {
  return `/oauth2/callback?${new URLSearchParams({ error: code, error_description: detail })}`
}
