import { useSuspenseQuery } from '@tanstack/react-query'
import {
  ArrowLeft,
  Cpu,
  FileText,
  History,
  Link2,
  type LucideIcon,
  Megaphone,
  MessageSquareText,
  MessagesSquare,
  Plug,
  Puzzle,
  ScrollText,
  Shield,
  ThumbsUp,
  Users,
} from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Link, NavLink, Outlet, useLocation } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { Logo } from '@/components/Logo'
import { meQuery } from '@/lib/api/queries'
import { FrameContext } from '@/lib/ui/frame'
import styles from './AdminLayout.module.css'
import { texts } from './texts'

const places: ReadonlyArray<{ to: string; label: string; Icon: LucideIcon }> = [
  { to: '/admin/contract', label: texts.layout.contract, Icon: FileText },
  { to: '/admin/organization/member', label: texts.layout.members, Icon: Users },
  { to: '/admin/saml', label: texts.layout.saml, Icon: Shield },
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

/** The frame of the admin screens: a header, the navigation on the left (on phones at the top), and the page. */
export function AdminLayout() {
  const { data: me } = useSuspenseQuery(meQuery)
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // On a phone the links are on one line, which scrolls.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current link follows the URL.
  useEffect(() => {
    const place = nav.current?.querySelector('[aria-current="page"]')
    place?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [pathname])
  return (
    <div className={styles.layout}>
      <button type="button" className={styles.skip} onClick={skip}>
        {texts.layout.skip}
      </button>
      <header className={styles.header} data-print="hide">
        <Link className={styles.logo} to="/home/skill" aria-label={texts.layout.logo}>
          <Logo size={26} />
        </Link>
        <p className={styles.where}>
          <span>{texts.layout.title}</span>
          <span className={styles.organization}>{me.organization.name}</span>
        </p>
        <ButtonLink className={styles.back} to="/home/skill" size="sm">
          <ArrowLeft size={16} aria-hidden />
          {texts.layout.back}
        </ButtonLink>
      </header>
      <nav className={styles.nav} aria-label={texts.layout.nav} data-print="hide" ref={nav}>
        <ul className={styles.list}>
          {places.map(({ to, label, Icon }) => (
            <li key={to}>
              <NavLink className={styles.place ?? ''} to={to}>
                <Icon size={16} aria-hidden />
                {label}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" className={styles.main} tabIndex={-1}>
        <FrameContext value="main">
          <Outlet />
        </FrameContext>
      </main>
    </div>
  )
}

function skip(): void {
  document.querySelector<HTMLElement>('main')?.focus()
}
