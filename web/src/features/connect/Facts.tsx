import { useSuspenseQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { scopeTexts } from '@/entities/connection/scopes'
import type { Scope } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import styles from './connect.module.css'
import { texts } from './texts'

/** Facts lists the account that an app is connected to, and the permissions of the app. */
export function Facts({ scopes, children }: { scopes: readonly Scope[]; children?: ReactNode }) {
  const { data: me } = useSuspenseQuery(meQuery)
  return (
    <dl className={styles.facts}>
      <div>
        <dt>{texts.account}</dt>
        <dd>
          {me.name}
          <br />
          <span className={styles.small}>
            {me.email}・{me.organization.name}
          </span>
        </dd>
      </div>
      {children}
      <div>
        <dt>{texts.scopes}</dt>
        <dd>
          <ul>
            {scopes.map((scope) => (
              <li key={scope}>{scopeTexts[scope].allows}</li>
            ))}
          </ul>
        </dd>
      </div>
    </dl>
  )
}
