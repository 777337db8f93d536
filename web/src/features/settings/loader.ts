import { type LoaderFunctionArgs, redirect } from 'react-router'
import { readToken } from '@/entities/identity/token'
import { signedIn } from '@/entities/session/guard'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/**
 * For sessions by password only. Whoever has come from their organization's sign-in has no password here to change: they go
 * back to the skills, and hear why; no menu of theirs leads here.
 */
export const changePasswordLoader = signedIn((_: LoaderFunctionArgs) => {
  if (readToken()?.authType !== 'federated_idp') return null
  toast(texts.federated)
  throw redirect('/home/skill')
})
