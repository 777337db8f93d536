import { type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken } from '@/entities/identity/token'
import { signedIn } from '@/entities/session/guard'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/**
 * passwordLoader admits sessions by password only. It redirects users of single sign-on to the skills with a
 * message. Their menus have no link to these pages.
 */
export const passwordLoader = signedIn((_: LoaderFunctionArgs) => {
  if (readToken()?.authType !== 'federated_idp') return null
  toast(texts.federated)
  throw redirect('/home/skill')
})
