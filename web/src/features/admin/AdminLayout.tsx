import { useSuspenseQuery } from '@tanstack/react-query'
import {
  Activity,
  Cpu,
  FileText,
  Folder,
  History,
  Link2,
  type LucideIcon,
  Megaphone,
  MessageSquareText,
  MessagesSquare,
  Plug,
  Puzzle,
  RefreshCw,
  ScrollText,
  Settings2,
  Shield,
  ThumbsUp,
  UserRoundCog,
  Users,
} from 'lucide-react'
import { Sections } from '@/components/Sections'
import { meQuery } from '@/lib/api/queries'
import { layout } from './texts'

const sections: ReadonlyArray<{ to: string; label: string; Icon: LucideIcon }> = [
  { to: '/admin/contract', label: layout.contract, Icon: FileText },
  { to: '/admin/organization/member', label: layout.members, Icon: Users },
  { to: '/admin/group', label: layout.groups, Icon: UserRoundCog },
  { to: '/admin/project', label: layout.projects, Icon: Folder },
  { to: '/admin/saml', label: layout.saml, Icon: Shield },
  { to: '/admin/scim', label: layout.scim, Icon: RefreshCw },
  { to: '/admin/instructions', label: layout.instructions, Icon: MessageSquareText },
  { to: '/admin/model', label: layout.models, Icon: Cpu },
  { to: '/admin/notice', label: layout.notices, Icon: Megaphone },
  { to: '/admin/retention', label: layout.retention, Icon: History },
  { to: '/admin/share', label: layout.shares, Icon: Link2 },
  { to: '/admin/connection', label: layout.connections, Icon: Plug },
  { to: '/admin/extension', label: layout.extension, Icon: Puzzle },
  { to: '/admin/slack', label: layout.slack, Icon: MessagesSquare },
  { to: '/admin/feedback', label: layout.feedback, Icon: ThumbsUp },
  { to: '/admin/audit', label: layout.audit, Icon: ScrollText },
]
const superSections = [
  ...sections,
  { to: '/admin/tool', label: layout.tools, Icon: Settings2 },
  { to: '/admin/state', label: layout.state, Icon: Activity },
]

/** AdminLayout is the layout of the admin screens, with their navigation. */
export function AdminLayout() {
  const { data: me } = useSuspenseQuery(meQuery)
  const all = me.role === 'organization-super-admin' ? superSections : sections
  return <Sections label={layout.nav} sections={all} />
}
