import type { LucideIcon } from 'lucide-react'
import { NavLink, Outlet } from 'react-router'
import { useCurrentLink } from '@/lib/ui/currentLink'
import styles from './Sections.module.css'

interface SectionsProps {
  readonly label: string
  readonly sections: ReadonlyArray<{ to: string; label: string; Icon: LucideIcon }>
}

/** Sections is the layout of pages that belong together: a navigation on the left, or tabs above if space is short. */
export function Sections({ label, sections }: SectionsProps) {
  const nav = useCurrentLink()
  return (
    <div className={styles.layout}>
      <nav className={styles.nav} aria-label={label} data-print="hide" ref={nav}>
        <ul className={styles.list}>
          {sections.map(({ to, label, Icon }) => (
            <li key={to}>
              <NavLink className={styles.section ?? ''} to={to}>
                <Icon size={16} aria-hidden />
                {label}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <div className={styles.page}>
        <Outlet />
      </div>
    </div>
  )
}
