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
import { texts } from './texts'

const sections: ReadonlyArray<{ to: string; label: string; Icon: LucideIcon }> = [
  { to: '/admin/contract', label: texts.layout.contract, Icon: FileText },
  { to: '/admin/organization/member', label: texts.layout.members, Icon: Users },
  { to: '/admin/group', label: texts.layout.groups, Icon: UserRoundCog },
  { to: '/admin/project', label: texts.layout.projects, Icon: Folder },
  { to: '/admin/saml', label: texts.layout.saml, Icon: Shield },
  { to: '/admin/scim', label: texts.layout.scim, Icon: RefreshCw },
  { to: '/admin/instructions', label: texts.layout.instructions, Icon: MessageSquareText },
  { to: '/admin/model', label: texts.layout.models, Icon: Cpu },
  { to: '/admin/notice', label: texts.layout.notices, Icon: Megaphone },
  { to: '/admin/retention', label: texts.layout.retention, Icon: History },
  { to: '/admin/share', label: texts.layout.shares, Icon: Link2 },
  { to: '/admin/connection', label: texts.layout.connections, Icon: Plug },
  { to: '/admin/extension', label: texts.layout.extension, Icon: Puzzle },
  { to: '/admin/slack', label: texts.layout.slack, Icon: MessagesSquare },
  { to: '/admin/feedback', label: texts.layout.feedback, Icon: ThumbsUp },
  { to: '/admin/audit', label: texts.layout.audit, Icon: ScrollText },
]
const superSections = [
  ...sections,
  { to: '/admin/tool', label: texts.layout.tools, Icon: Settings2 },
  { to: '/admin/state', label: texts.layout.state, Icon: Activity },
]

/** AdminLayout is the layout of the admin screens, with their navigation. */
export function AdminLayout() {
  const { data: me } = useSuspenseQuery(meQuery)
  const all = me.role === 'organization-super-admin' ? superSections : sections
  return <Sections label={texts.layout.nav} sections={all} />
}
