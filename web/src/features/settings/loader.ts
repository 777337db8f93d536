import { type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken } from '@/entities/identity/token'
import { signedIn } from '@/entities/session/guard'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/**
 * For sessions by password only. Users of single sign-on have no password to change here: they are redirected to the
 * skills with a message; none of their menus leads here.
 */
export const changePasswordLoader = signedIn((_: LoaderFunctionArgs) => {
  if (readToken()?.authType !== 'federated_idp') return null
  toast(texts.federated)
  throw redirect('/home/skill')
})
