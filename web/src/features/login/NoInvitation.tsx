import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { ButtonLink } from '@/components/Button'
import { configQuery } from '@/lib/api/queries'
import styles from './steps.module.css'
import { texts } from './texts'

const words = texts.noInvitation

/** NoInvitation explains how to get an invitation, and links to the sign-in of super-admins and to help. */
export function NoInvitation() {
  const { links } = useQuery(configQuery).data ?? {}
  const href = links?.contact ?? links?.help
  return (
    <details className={styles.help}>
      <summary>
        <ChevronRight size={14} aria-hidden />
        {words.title}
      </summary>
      <ul>
        {words.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ul>
      <p className={styles.links}>
        <ButtonLink variant="link" size="sm" to="/login/super-admin">
          {texts.federated.superAdmin}
        </ButtonLink>
        {href && (
          <a href={href} target="_blank" rel="noreferrer">
            {links?.contact ? words.contact : words.help}
          </a>
        )}
      </p>
    </details>
  )
}
