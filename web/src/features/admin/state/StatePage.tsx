import { useQuery } from '@tanstack/react-query'
import { Check, CircleAlert, CircleMinus, RefreshCw, TriangleAlert } from 'lucide-react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { Loaded } from '@/components/States'
import type { ServiceID, ServiceLevel, ServiceState } from '@/lib/api'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { stateQuery } from '../queries'
import { state as words } from '../texts'
import styles from './StatePage.module.css'

const services: readonly ServiceID[] = [
  'model',
  'embedding',
  'web-search',
  'files',
  'mail',
  'slack',
  'single-sign-on',
]
const icons = { ok: Check, warning: TriangleAlert, failure: CircleAlert, unused: CircleMinus } as const

/** The state of the services that the organization uses, for super-admins. */
export function StatePage() {
  const query = useQuery(stateQuery)
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button loading={query.isFetching} onClick={() => void query.refetch()}>
          <RefreshCw size={16} aria-hidden />
          {words.again}
        </Button>
      }
    >
      <Loaded query={query} loading={<BoxesLoading heights={[420]} />}>
        {({ items }) => (
          <ul className={styles.services}>
            {services.map((id) => (
              <Service key={id} id={id} level={levelOf(items, id)} />
            ))}
          </ul>
        )}
      </Loaded>
    </Page>
  )
}

function levelOf(items: readonly ServiceState[], id: ServiceID): ServiceLevel | 'unused' {
  return items.find((item) => item.id === id)?.state ?? 'unused'
}

function Service({ id, level }: { id: ServiceID; level: ServiceLevel | 'unused' }) {
  const service = words.services[id]
  const Icon = icons[level]
  return (
    <li className={styles.service} data-level={level}>
      <Icon size={18} aria-hidden />
      <div>
        <h2 className={styles.name}>
          {service.name}
          <span className={styles.level}>{words.levels[level]}</span>
        </h2>
        <p>{service[level]}</p>
      </div>
      {service.page && (
        <Link className={styles.page} to={service.page.to}>
          {service.page.label}
        </Link>
      )}
    </li>
  )
}
