import { useQuery } from '@tanstack/react-query'
import { TriangleAlert } from 'lucide-react'
import { isAdmin } from '@/entities/session/guard'
import type { Role } from '@/lib/api'
import { configQuery } from '@/lib/api/queries'
import styles from './Notices.module.css'
import { texts } from './texts'

/** A banner that tells administrators how to connect a model; shown to nobody else. */
export function ModelBanner({ role }: { role: Role }) {
  const connected = useQuery(configQuery).data?.model_connected ?? true
  if (connected || !isAdmin(role)) return null
  return (
    <section className={styles.notices} aria-label={texts.model.title}>
      <article className={styles.notice} data-level="warning">
        <TriangleAlert size={18} aria-hidden />
        <div>
          <h2>{texts.model.title}</h2>
          <p>{texts.model.body}</p>
        </div>
      </article>
    </section>
  )
}
