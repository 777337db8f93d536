import type { ContractStatus, Invitation, MemberFilter, Role } from '@/lib/api'

/** The names of API values on all admin screens. */

export const roles: Record<Role, string> = {
  'general-user': '一般ユーザー',
  'organization-admin': '管理者',
  'organization-super-admin': '特権管理者',
  'system-admin': 'システム管理者',
}

export const states: Record<MemberFilter, string> = {
  active: '利用中',
  invited: '招待中',
  inactive: '停止中',
}

export const contractStatuses: Record<ContractStatus, string> = {
  active: '有効',
  trial: '試用中',
  suspended: '停止中',
  ended: '終了',
}

export const invitationResults: Record<Invitation['result'], string> = {
  invited: '招待しました',
  already_member: 'すでにメンバーです',
  no_seat: '空きシートがありません',
  unavailable: '招待できないアドレスです',
  failed: '送信できませんでした',
}
