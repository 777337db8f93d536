import { ArrowLeft, ArrowRight } from 'lucide-react'
import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { formatNumber } from '@/lib/ui/numbers'
import { PAGE } from '../queries'
import { paging } from '../texts'
import type { UrlState } from '../urlState'
import styles from './Paging.module.css'

/**
 * The displayed range of a list, with links to the previous and next page. A page after the last one leads to the last.
 */
export function Paging({ url, total, shown }: { url: UrlState; total: number; shown: number }) {
  const navigate = useNavigate()
  const last = Math.max(1, Math.ceil(total / PAGE))
  const beyond = shown === 0 && url.page > last
  const lastPage = url.pageLink(last)
  useEffect(() => {
    if (beyond) void navigate(lastPage, { replace: true })
  }, [beyond, lastPage, navigate])

  if (total === 0 || beyond) return null
  const first = (url.page - 1) * PAGE + 1
  return (
    <nav className={styles.paging} aria-label={paging.label}>
      <p>{paging.range(first, first + shown - 1, formatNumber(total))}</p>
      {last > 1 && (
        <div className={styles.ways}>
          <Way to={url.page > 1 ? url.pageLink(url.page - 1) : null}>
            <ArrowLeft size={16} aria-hidden />
            {paging.previous}
          </Way>
          <Way to={url.page < last ? url.pageLink(url.page + 1) : null}>
            {paging.next}
            <ArrowRight size={16} aria-hidden />
          </Way>
        </div>
      )}
    </nav>
  )
}

function Way({ to, children }: { to: string | null; children: React.ReactNode }) {
  if (to === null) {
    return (
      <span className={styles.none} aria-disabled="true">
        {children}
      </span>
    )
  }
  return (
    <ButtonLink to={to} size="sm" preventScrollReset>
      {children}
    </ButtonLink>
  )
}
