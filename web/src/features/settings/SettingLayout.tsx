import {
  Download,
  KeyRound,
  Link2,
  MessagesSquare,
  MonitorSmartphone,
  Plug,
  ShieldCheck,
  UserPen,
} from 'lucide-react'
import { Sections } from '@/components/Sections'
import { readToken } from '@/entities/identity/token'
import { texts } from './texts'

const password = { to: '/setting/change-password', label: texts.tabs.password, Icon: KeyRound }
const factor = { to: '/setting/factor', label: texts.tabs.factor, Icon: ShieldCheck }
const sections = [
  { to: '/setting/about', label: texts.tabs.about, Icon: UserPen },
  { to: '/setting/session', label: texts.tabs.sessions, Icon: MonitorSmartphone },
  { to: '/setting/share', label: texts.tabs.shares, Icon: Link2 },
  { to: '/setting/connections', label: texts.tabs.connections, Icon: Plug },
  { to: '/setting/slack', label: texts.slack.title, Icon: MessagesSquare },
  { to: '/setting/data', label: texts.data.title, Icon: Download },
]

/** SettingLayout is the layout of the settings. With single sign-on, it has no links to password and second factor. */
export function SettingLayout() {
  const federated = readToken()?.authType === 'federated_idp'
  return <Sections label={texts.nav} sections={federated ? sections : [password, factor, ...sections]} />
}
