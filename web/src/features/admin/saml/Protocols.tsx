import { useQuery } from '@tanstack/react-query'
import { NavLink } from 'react-router'
import { oidcQuery, samlQuery } from '../queries'
import { protocols as words } from '../texts'
import styles from './Saml.module.css'

/** The links to the pages of the two protocols, with the one in use. */
export function Protocols() {
  const { data: saml } = useQuery(samlQuery)
  const { data: oidc } = useQuery(oidcQuery)
  const protocols = [
    { to: '/admin/saml', label: words.saml, used: saml?.enabled },
    { to: '/admin/saml/oidc', label: words.oidc, used: oidc?.enabled },
  ]
  return (
    <nav aria-label={words.label}>
      <ul className={styles.protocols}>
        {protocols.map(({ to, label, used }) => (
          <li key={to}>
            <NavLink to={to} end className={styles.protocol ?? ''}>
              {label}
              {used && <span className={styles.used}>{words.used}</span>}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}
