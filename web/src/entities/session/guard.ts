import { type LoaderFunction, type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken } from '@/entities/identity/token'
import type { Role } from '@/lib/api'
import { emailOf } from '@/lib/api/jwt'
import { meQuery, queryClient } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import { hideQuery, rememberedPlace, rememberPlace } from './place'

/** The roles with access to the admin screens. */
const ADMIN_ROLES: readonly Role[] = ['organization-admin', 'organization-super-admin']

/** Whether a role has access to the admin screens. */
export function isAdmin(role: Role): boolean {
  return ADMIN_ROLES.includes(role)
}

/** requireSession redirects a visitor without a token to /login, and stores the requested page. */
function requireSession(request: Request): void {
  if (readToken() !== null) return
  const url = new URL(request.url)
  rememberPlace(url.pathname + url.search)
  throw redirect('/login')
}

/**
 * signingIn is the loader of the sign-in pages. It stores the target of `?next=`, and redirects users who are signed
 * in, unless an invitation's `?email=` belongs to another user.
 */
export function signingIn({ request }: LoaderFunctionArgs): Response | null {
  const query = new URL(request.url).searchParams
  rememberPlace(query.get('next'))
  hideQuery(request)
  const stored = readToken()
  const email = query.get('email')?.toLowerCase()
  if (stored === null || (email && email !== emailOf(stored.idToken).toLowerCase())) return null
  return redirect(rememberedPlace() ?? '/home')
}

/**
 * signedIn returns a loader that runs only for signed-in users, after the current user is loaded. Loaders of nested
 * routes start concurrently; those returned by signedIn share one call.
 */
export function signedIn(loader?: LoaderFunction): LoaderFunction {
  return async (args: LoaderFunctionArgs, context) => {
    requireSession(args.request)
    await queryClient.ensureQueryData(meQuery)
    return loader ? await loader(args, context) : null
  }
}

const NOT_ADMIN = '管理者画面を表示する権限がありません。必要な場合は、組織の管理者にご相談ください。'

/** adminOnly returns a loader for the admin roles. It redirects other users to the skills, with a message. */
export function adminOnly(loader?: LoaderFunction): LoaderFunction {
  return signedIn(async (args, context) => {
    const { role } = await queryClient.ensureQueryData(meQuery)
    if (!isAdmin(role)) {
      toast(NOT_ADMIN)
      throw redirect('/home/skill')
    }
    return loader ? await loader(args, context) : null
  })
}
