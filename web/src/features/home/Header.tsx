import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useAtomValue, useSetAtom } from 'jotai'
import { PanelLeft, Search, SquarePen } from 'lucide-react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { IconLink } from '@/components/IconLink'
import { Logo } from '@/components/Logo'
import { useNewChat } from '@/entities/thread/newChat'
import { configQuery, meQuery } from '@/lib/api/queries'
import { keys } from '@/lib/browser/platform'
import { NARROW, useMedia } from '@/lib/ui/media'
import { paletteOpenAtom } from '@/lib/ui/overlays'
import { foldSidebar, sidebarFoldedAtom, sidebarOpenAtom } from '@/lib/ui/sidebar'
import { Favorites } from './Favorites'
import styles from './Header.module.css'
import { Notices } from './Notices'
import { texts } from './texts'
import { UserMenu } from './UserMenu'

/** Header is the header of all pages for signed-in users. */
export function Header() {
  const { data: me } = useSuspenseQuery(meQuery)
  const { links } = useQuery(configQuery).data ?? {}
  const narrow = useMedia(NARROW)
  const newChat = useNewChat()
  const openSidebar = useSetAtom(sidebarOpenAtom)
  const folded = useAtomValue(sidebarFoldedAtom)
  const openPalette = useSetAtom(paletteOpenAtom)

  return (
    <header className={styles.header} data-print="hide">
      {narrow ? (
        <IconButton label={texts.threads} onClick={() => openSidebar(true)}>
          <PanelLeft size={20} />
        </IconButton>
      ) : (
        <IconButton
          className={styles.fold}
          label={texts.fold}
          shortcut={keys('mod', 'B')}
          aria-expanded={!folded}
          aria-controls="threads"
          onClick={() => foldSidebar(!folded)}
        >
          <PanelLeft size={20} />
        </IconButton>
      )}
      <Link className={styles.logo} to="/home/skill" aria-label={texts.logo}>
        <Logo size={26} />
      </Link>
      <nav className={styles.nav} aria-label={texts.mainNav}>
        {!narrow && links?.news && <ExternalItem href={links.news}>{texts.news}</ExternalItem>}
        <Favorites compact={narrow} />
        {!narrow && links?.help && <ExternalItem href={links.help}>{texts.help}</ExternalItem>}
      </nav>
      <div className={styles.tools}>
        {narrow && (
          <IconLink label={texts.newChat} {...newChat}>
            <SquarePen size={18} />
          </IconLink>
        )}
        <IconButton label={texts.search} shortcut={keys('mod', 'K')} onClick={() => openPalette(true)}>
          <Search size={18} />
        </IconButton>
        <Notices />
        <UserMenu me={me} links={links ?? {}} narrow={narrow} />
      </div>
    </header>
  )
}

function ExternalItem({ href, children }: { href: string; children: string }) {
  return (
    <a className={styles.item} href={href} target="_blank" rel="noreferrer">
      {children}
      <span className="visually-hidden">{texts.newTab}</span>
    </a>
  )
}
