import {
  ApiError,
  type Counted,
  call,
  errorMessage,
  type Invitation,
  type Member,
  type NewMember,
} from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { toast, toastFailure } from '@/lib/ui/toast'
import { refreshMembers } from '../queries'
import { members as words } from '../texts'

/**
 * inviteMembers invites at most a hundred people, and returns the result for each, in order. A retry with the same key
 * returns the same results and sends nothing twice.
 */
export async function inviteMembers(users: NewMember[], key: string): Promise<Invitation[]> {
  return (await call('inviteUsers', { 'Idempotency-Key': key, body: { users } })).items
}

/** resend sends an invitation or a request to set a password again, and shows the result. */
export async function resend(member: Member, kind: 'again' | 'password' = 'again'): Promise<void> {
  const { sent, notSent } = words.sending[kind]
  try {
    await call('resendInvitation', { body: { user_id: member.id } })
    toast(sent(member.name), { tone: 'success' })
    await refreshMembers()
  } catch (cause) {
    toastFailure(notSent(member.name, errorMessage(cause)), () => void resend(member, kind))
  }
}

/** Ends all sessions of a member. */
export async function signOut(member: Member): Promise<void> {
  try {
    await call('endMemberSessions', { user_id: member.id })
    toast(words.signedOut(member.name), { tone: 'success' })
  } catch (cause) {
    toastFailure(words.notSignedOut(member.name, errorMessage(cause)), () => void signOut(member))
  }
}

/** Removes a member's link to the identity provider. */
export async function unlink(member: Member): Promise<void> {
  try {
    await call('unlinkUser', { user_id: member.id })
    toast(words.unlinked(member.name), { tone: 'success' })
    await refreshMembers()
  } catch (cause) {
    toastFailure(words.notUnlinked(member.name, errorMessage(cause)), () => void unlink(member))
  }
}

/** Resets a member's second factor. For a super-admin, the first call only requests it. */
export async function resetFactor(member: Member): Promise<void> {
  try {
    const { reset } = await call('resetMemberFactor', { user_id: member.id })
    toast((reset ? words.factorReset : words.factorRequested)(member.name), { tone: 'success' })
  } catch (cause) {
    toastFailure(words.factorNotReset(member.name, errorMessage(cause)))
  }
  await refreshMembers()
}

// The focus was in the removed row.
function catchFocus(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
  })
}

/** Removes a member, optimistically; a failure restores the line and shows a message. */
export async function remove(member: Member): Promise<void> {
  await queryClient.cancelQueries({ queryKey: ['admin', 'listUsers'] })
  queryClient.setQueriesData<Counted<Member>>({ queryKey: ['admin', 'listUsers'] }, (list) => {
    if (!list?.items.some((item) => item.id === member.id)) return list
    return { items: list.items.filter((item) => item.id !== member.id), total: list.total - 1 }
  })
  catchFocus()
  try {
    await call('removeUser', { user_id: member.id })
    toast(words.removed(member.name), { tone: 'success' })
  } catch (cause) {
    // Another administrator has already removed the member.
    if (cause instanceof ApiError && cause.status === 404) return await refreshMembers()
    toastFailure(words.notRemoved(member.name, errorMessage(cause)), () => void remove(member))
  }
  await refreshMembers()
}
