import { Link, type LinkProps } from 'react-router'
import styles from './Button.module.css'

/** A link within the app with only an icon. `label` is its accessible name and its tooltip. */
export function IconLink({ label, ...rest }: LinkProps & { label: string }) {
  return <Link {...rest} aria-label={label} data-tip="bottom" className={styles.icon} />
}
