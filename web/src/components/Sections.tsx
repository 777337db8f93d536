import type { LucideIcon } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { NavLink, Outlet, useLocation } from 'react-router'
import styles from './Sections.module.css'

interface SectionsProps {
  readonly label: string
  readonly sections: ReadonlyArray<{ to: string; label: string; Icon: LucideIcon }>
}

/** Sections is the layout of pages that belong together: a navigation on the left, or tabs above if space is short. */
export function Sections({ label, sections }: SectionsProps) {
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // The tabs are on one line, which scrolls.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current link follows the URL.
  useEffect(() => {
    const current = nav.current?.querySelector('[aria-current="page"]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [pathname])
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
