import { type UseQueryResult, useSuspenseQuery } from '@tanstack/react-query'
import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import { ButtonLink } from '@/components/Button'
import { Loaded } from '@/components/States'
import { meQuery } from '@/lib/api/queries'
import { formatFull } from '@/lib/ui/dates'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { AddressRangesSection } from './AddressRanges'
import { FactorPolicySection } from './FactorPolicy'
import { Protocols } from './Protocols'
import styles from './Saml.module.css'
import { SessionLimitsSection } from './SessionLimits'

interface ProtocolPageProps<Config> {
  query: UseQueryResult<Config>
  words: {
    readonly title: string
    readonly readOnly: string
    readonly edit: string
    readonly updated: (date: string) => string
  }
  /** The page that edits the settings. */
  edit: string
  /** The heights of the placeholders, in pixels. */
  heights: readonly number[]
  /** The result of a test. */
  result?: (mayEdit: boolean) => ReactNode
  children: (config: Config, mayEdit: boolean) => ReactNode
}

/** The page of a protocol for single sign-on, with the settings that apply to both. */
export function ProtocolPage<Config extends { updated_at?: string }>(props: ProtocolPageProps<Config>) {
  const { query, words, edit, heights, result, children } = props
  const { data: me } = useSuspenseQuery(meQuery)
  const mayEdit = me.role === 'organization-super-admin'
  return (
    <Page
      title={words.title}
      lead={mayEdit ? undefined : words.readOnly}
      actions={
        mayEdit && (
          <ButtonLink to={edit}>
            <Pencil size={16} aria-hidden />
            {words.edit}
          </ButtonLink>
        )
      }
    >
      <Protocols />
      {result?.(mayEdit)}
      <Loaded query={query} loading={<BoxesLoading heights={heights} />}>
        {(config) => (
          <>
            {children(config, mayEdit)}
            {config.updated_at && (
              <p className={styles.updated}>{words.updated(formatFull(config.updated_at))}</p>
            )}
          </>
        )}
      </Loaded>
      <SessionLimitsSection mayEdit={mayEdit} />
      <FactorPolicySection mayEdit={mayEdit} />
      <AddressRangesSection mayEdit={mayEdit} />
    </Page>
  )
}
