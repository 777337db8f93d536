import { NavLink } from 'react-router'
import { readToken } from '@/entities/identity/token'
import styles from './SettingNav.module.css'
import { texts } from './texts'

/** SettingNav is the navigation of the settings. Users of single sign-on get no link to the password page. */
export function SettingNav() {
  return (
    <nav className={styles.nav} aria-label={texts.nav}>
      {readToken()?.authType !== 'federated_idp' && (
        <NavLink to="/setting/change-password">{texts.tabs.password}</NavLink>
      )}
      <NavLink to="/setting/about">{texts.tabs.about}</NavLink>
      <NavLink to="/setting/session">{texts.tabs.sessions}</NavLink>
      <NavLink to="/setting/share">{texts.tabs.shares}</NavLink>
      <NavLink to="/setting/connections">{texts.tabs.connections}</NavLink>
      <NavLink to="/setting/slack">{texts.slack.title}</NavLink>
    </nav>
  )
}
