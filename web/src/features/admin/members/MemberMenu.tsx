import { KeyRound, LogOut, Mail, MoreHorizontal, Pencil, ShieldOff, Trash2, Unlink } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu'
import type { Member } from '@/lib/api'
import { members as words } from '../texts'
import { invitationFor } from './may'

const icon = { size: 16, 'aria-hidden': true } as const

/** The actions on a member. */
export interface MemberActions {
  onEdit: (member: Member) => void
  onRemove: (member: Member) => void
  onResend: (member: Member) => void
  onGivePassword: (member: Member) => void
  onSignOut: (member: Member) => void
  onUnlink: (member: Member) => void
  onResetFactor: (member: Member) => void
}

interface MemberMenuProps extends MemberActions {
  member: Member
  singleSignOn: boolean | undefined
  /** Whether the reader may not change this member; the form explains why. */
  refused: boolean
  /** Whether the reader may request or confirm a reset of the second factor. */
  resettable: boolean
}

/** The menu of a member. Actions that the reader may not perform are disabled. */
export function MemberMenu({ member, singleSignOn, refused, resettable, ...actions }: MemberMenuProps) {
  const { onEdit, onRemove, onResend, onGivePassword, onSignOut, onUnlink, onResetFactor } = actions
  const invitation = invitationFor(member, singleSignOn)
  // A dialog opens after the menu has returned the focus to its button. The dialog then restores the focus there.
  const next = useRef<((member: Member) => void) | null>(null)
  const openNext = () => {
    const open = next.current
    next.current = null
    if (open) queueMicrotask(() => open(member))
  }
  const later = (open: (member: Member) => void) => () => {
    next.current = open
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
      <MenuItem icon={<Pencil {...icon} />} onSelect={later(onEdit)}>
        {words.edit}
      </MenuItem>
      {invitation === 'again' && (
        <MenuItem icon={<Mail {...icon} />} disabled={refused} onSelect={() => onResend(member)}>
          {words.resend}
        </MenuItem>
      )}
      {invitation === 'password' && (
        <MenuItem icon={<KeyRound {...icon} />} disabled={refused} onSelect={later(onGivePassword)}>
          {words.givePassword}
        </MenuItem>
      )}
      <MenuItem icon={<LogOut {...icon} />} disabled={refused} onSelect={later(onSignOut)}>
        {words.signOut}
      </MenuItem>
      {member.sso_linked && (
        <MenuItem icon={<Unlink {...icon} />} disabled={refused} onSelect={later(onUnlink)}>
          {words.unlink}
        </MenuItem>
      )}
      {member.second_factor && (
        <MenuItem
          icon={<ShieldOff {...icon} />}
          disabled={refused && !resettable}
          onSelect={later(onResetFactor)}
        >
          {words.resetFactor}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={<Trash2 {...icon} />} danger disabled={refused} onSelect={later(onRemove)}>
        {words.remove}
      </MenuItem>
    </Menu>
  )
}
