import { KeyRound, LogOut, Mail, MoreHorizontal, Pencil, ShieldOff, Trash2, Unlink } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu'
import type { Me, Member } from '@/lib/api'
import { members as words } from '../texts'
import type { Question } from './AskDialog'
import { resend } from './changes'
import { invitationFor, mayResetFactor, refusalReason } from './may'

const icon = { size: 16, 'aria-hidden': true } as const

/** A dialog about a member. */
export type MemberDialog = 'edit' | Question

export interface MemberMenuProps {
  me: Me
  member: Member
  /** Whether the organization uses single sign-on; undefined while unknown. */
  singleSignOn: boolean | undefined
  onOpen: (dialog: MemberDialog) => void
}

/** The menu of a member. Actions that the reader may not perform are disabled; the form explains why. */
export function MemberMenu({ me, member, singleSignOn, onOpen }: MemberMenuProps) {
  const refused = refusalReason(me, member) !== undefined
  const invitation = invitationFor(member, singleSignOn)
  // A dialog opens after the menu has returned the focus to its button. The dialog then restores the focus there.
  const next = useRef<MemberDialog | null>(null)
  const openNext = () => {
    const dialog = next.current
    next.current = null
    if (dialog) queueMicrotask(() => onOpen(dialog))
  }
  const later = (dialog: MemberDialog) => () => {
    next.current = dialog
  }
  return (
    <Menu
      onCloseAutoFocus={openNext}
      trigger={
        <IconButton label={words.menu(member.name)}>
          <MoreHorizontal size={18} />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil {...icon} />} onSelect={later('edit')}>
        {words.edit}
      </MenuItem>
      {invitation === 'again' && (
        <MenuItem icon={<Mail {...icon} />} disabled={refused} onSelect={() => void resend(member)}>
          {words.resend}
        </MenuItem>
      )}
      {invitation === 'password' && (
        <MenuItem icon={<KeyRound {...icon} />} disabled={refused} onSelect={later('password')}>
          {words.givePassword}
        </MenuItem>
      )}
      <MenuItem icon={<LogOut {...icon} />} disabled={refused} onSelect={later('sign-out')}>
        {words.signOut}
      </MenuItem>
      {member.sso_linked && (
        <MenuItem icon={<Unlink {...icon} />} disabled={refused} onSelect={later('unlink')}>
          {words.unlink}
        </MenuItem>
      )}
      {member.second_factor && (
        <MenuItem
          icon={<ShieldOff {...icon} />}
          disabled={refused && !mayResetFactor(me, member)}
          onSelect={later('reset-factor')}
        >
          {words.resetFactor}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={<Trash2 {...icon} />} danger disabled={refused} onSelect={later('remove')}>
        {words.remove}
      </MenuItem>
    </Menu>
  )
}
