import { useAtomValue, useSetAtom } from 'jotai'
import {
  Bell,
  Building2,
  CircleQuestionMark,
  FileText,
  Keyboard,
  LifeBuoy,
  Link2,
  LogOut,
  type LucideIcon,
  Mail,
  MessageCircleQuestionMark,
  Monitor,
  MonitorSmartphone,
  Moon,
  Newspaper,
  SendHorizontal,
  Settings,
  Sun,
  UserPen,
} from 'lucide-react'
import { useNavigate } from 'react-router'
import { Avatar } from '@/components/Avatar'
import { Menu, MenuChoice, MenuItem, MenuLink, MenuSeparator, MenuSwitch } from '@/components/Menu'
import { readToken } from '@/entities/identity/token'
import { isAdmin } from '@/entities/session/guard'
import { signOutEverywhere } from '@/entities/session/signOut'
import type { AppConfig, Me } from '@/lib/api'
import { canNotify, type SystemNotices, setNotices, useNotices } from '@/lib/browser/systemNotices'
import { shortcutsOpenAtom } from '@/lib/ui/overlays'
import { sendKeys, setSendKey, useSendKey } from '@/lib/ui/sendKey'
import { setSuggestions, useSuggestions } from '@/lib/ui/suggestions'
import { setTheme, themeAtom } from '@/lib/ui/theme'
import { toast } from '@/lib/ui/toast'
import styles from './Header.module.css'
import { OwnUsage } from './OwnUsage'
import { texts } from './texts'

const icon = { size: 16, 'aria-hidden': true } as const

interface UserMenuProps {
  me: Me
  links: AppConfig['links']
  /** Whether the menu contains the header's links, for narrow screens. */
  narrow: boolean
}

/** UserMenu shows the signed-in user. Its links depend on the sign-in method, and the admin screens on the role. */
export function UserMenu({ me, links, narrow }: UserMenuProps) {
  const theme = useAtomValue(themeAtom)
  const sendKey = useSendKey()
  const suggestions = useSuggestions()
  const openShortcuts = useSetAtom(shortcutsOpenAtom)
  const { menu } = texts
  return (
    <Menu
      trigger={
        <button type="button" className={styles.avatar} aria-label={menu.label(me.name)}>
          <Avatar name={me.name} size={30} />
        </button>
      }
    >
      <div className={styles.who}>
        <strong>{me.name}</strong>
        <span>{me.email}</span>
        <span>{me.organization.name}</span>
      </div>
      <OwnUsage />
      <MenuSeparator />
      {isAdmin(me.role) && <PageItem to="/admin/contract" Icon={Building2} label={menu.admin} />}
      {readToken()?.authType === 'cognito' ? (
        <PageItem to="/setting/change-password" Icon={Settings} label={menu.settings} />
      ) : (
        <>
          <LinkItem href={links.faq} Icon={CircleQuestionMark} label={menu.faq} />
          <LinkItem href={links.contact} Icon={Mail} label={menu.contact} />
          <LinkItem href={links.terms} Icon={FileText} label={menu.terms} />
          <PageItem to="/setting/session" Icon={MonitorSmartphone} label={menu.sessions} />
        </>
      )}
      <PageItem to="/setting/about" Icon={UserPen} label={menu.about} />
      <PageItem to="/setting/share" Icon={Link2} label={menu.shares} />
      {narrow && <LinkItem href={links.news} Icon={Newspaper} label={texts.news} />}
      {narrow && <LinkItem href={links.help} Icon={LifeBuoy} label={texts.help} />}
      {!narrow && (
        <MenuItem icon={<Keyboard {...icon} />} onSelect={() => openShortcuts(true)}>
          {menu.shortcuts}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuChoice
        label={menu.theme}
        value={theme}
        onChange={setTheme}
        options={[
          { value: 'system', label: menu.themes.system, icon: <Monitor {...icon} /> },
          { value: 'light', label: menu.themes.light, icon: <Sun {...icon} /> },
          { value: 'dark', label: menu.themes.dark, icon: <Moon {...icon} /> },
        ]}
      />
      <MenuSeparator />
      <MenuChoice
        label={menu.sendKey}
        value={sendKey}
        onChange={setSendKey}
        options={(['enter', 'mod-enter'] as const).map((value) => ({
          value,
          label: sendKeys(value).send,
          icon: <SendHorizontal {...icon} />,
        }))}
      />
      <MenuSeparator />
      <MenuSwitch
        icon={<MessageCircleQuestionMark {...icon} />}
        label={menu.suggestions}
        on={suggestions === 'on'}
        onChange={(on) => setSuggestions(on ? 'on' : 'off')}
      />
      {canNotify() && <NoticesSwitch />}
      <MenuSeparator />
      <MenuItem icon={<LogOut {...icon} />} onSelect={() => void signOutEverywhere()}>
        {menu.signOut}
      </MenuItem>
    </Menu>
  )
}

/**
 * NoticesSwitch is the switch for system notifications about answers that end while no tab is visible. It explains a
 * missing browser permission.
 */
function NoticesSwitch() {
  const { notices } = texts.menu
  const on = useNotices() === 'on'
  const choose = async (choice: SystemNotices) => {
    if (!(await setNotices(choice))) toast(notices.denied, { tone: 'danger', duration: 10_000 })
  }
  return (
    <MenuSwitch
      icon={<Bell {...icon} />}
      label={notices.label}
      on={on}
      onChange={(next) => void choose(next ? 'on' : 'off')}
    />
  )
}

interface ItemProps {
  Icon: LucideIcon
  label: string
}

/** PageItem opens a page of the app. */
function PageItem({ to, Icon, label }: ItemProps & { to: string }) {
  const navigate = useNavigate()
  return (
    <MenuItem icon={<Icon {...icon} />} onSelect={() => void navigate(to)}>
      {label}
    </MenuItem>
  )
}

/** LinkItem opens a page outside the app, if there is one. */
function LinkItem({ href, Icon, label }: ItemProps & { href: string | undefined }) {
  return (
    href && (
      <MenuLink href={href} icon={<Icon {...icon} />}>
        {label}
      </MenuLink>
    )
  )
}
