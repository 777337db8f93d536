import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { Meter } from '@/components/Meter'
import { Loaded } from '@/components/States'
import type { Contract } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatDay } from '@/lib/ui/dates'
import { formatNumber, percentOf } from '@/lib/ui/numbers'
import { BoxesLoading } from '../parts/Loading'
import { Notice, Page } from '../parts/Page'
import { contractQuery } from '../queries'
import { contract as words } from '../texts'
import styles from './ContractPage.module.css'
import { daysLeft, statusOf } from './status'
import { MemberUsageTable } from './usage/MemberUsageTable'
import { ModelUsageTable } from './usage/ModelUsageTable'
import { ToolUsageTable } from './usage/ToolUsageTable'
import { Usage } from './usage/Usage'
import { UsageCsv } from './usage/UsageCsv'

/** A contract that ends within this number of days shows a warning. */
const ENDING_DAYS = 30

/** The contract: its terms, and its usage by day, by member, by model and by tool. */
export function ContractPage() {
  const query = useQuery(contractQuery)
  return (
    <Page title={words.title}>
      <Loaded query={query} loading={<BoxesLoading heights={[132, 300, 220]} />}>
        {(contract) => (
          <>
            <Warnings contract={contract} />
            <Overview contract={contract} />
            <Usage days={contract.usage} />
            <MemberUsageTable />
            <ModelUsageTable today={today(contract)} />
            <ToolUsageTable today={today(contract)} />
            <UsageCsv today={today(contract)} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** today returns the last day of the usage. */
function today({ usage, starts_on }: Contract): string {
  return usage.at(-1)?.date ?? starts_on
}

function Warnings({ contract }: { contract: Contract }) {
  const { ends_on, tokens, seats } = contract
  const percent = percentOf(tokens.used, tokens.limit)
  const status = statusOf(contract)
  const stopped = status === 'ended' || status === 'suspended'
  const { warnings } = words
  return (
    <>
      {status === 'ended' && <Notice level="danger">{warnings.ended}</Notice>}
      {status === 'suspended' && <Notice level="danger">{warnings.suspended}</Notice>}
      {!stopped && ends_on !== undefined && daysLeft(contract) < ENDING_DAYS && (
        <Notice level="warning">{warnings.ending(formatDay(ends_on))}</Notice>
      )}
      {percent >= 100 && <Notice level="danger">{warnings.tokens100(formatDay(tokens.resets_on))}</Notice>}
      {percent >= 80 && percent < 100 && <Notice level="warning">{warnings.tokens80(`${percent}%`)}</Notice>}
      {seats.used >= seats.limit && <Notice level="warning">{warnings.seats}</Notice>}
    </>
  )
}

function Overview({ contract }: { contract: Contract }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const { plan, starts_on, ends_on, seats, tokens } = contract
  const status = statusOf(contract)
  const period = ends_on
    ? words.range(formatDay(starts_on), formatDay(ends_on))
    : words.open(formatDay(starts_on))
  const seatsLeft = seats.limit - seats.used
  const tokensLeft = tokens.limit - tokens.used
  return (
    <div className={styles.overview}>
      <section className={styles.box} aria-label={words.plan}>
        <h2>{words.plan}</h2>
        <p className={styles.plan}>
          {plan}
          <span className={styles.status} data-status={status}>
            {words.statuses[status]}
          </span>
        </p>
        <dl className={styles.facts}>
          <div>
            <dt>{words.organization}</dt>
            <dd>{me.organization.name}</dd>
          </div>
          <div>
            <dt>{words.period}</dt>
            <dd>{period}</dd>
          </div>
        </dl>
      </section>
      <Allowance
        title={words.seats}
        unit={words.seatsUnit}
        {...seats}
        left={seatsLeft > 0 ? words.seatsLeft(formatNumber(seatsLeft)) : words.seatsFull}
        hint={
          <>
            {words.seatsHint} <Link to="/admin/organization/member">{words.toMembers}</Link>
          </>
        }
      />
      <Allowance
        title={words.tokens}
        unit={words.tokensUnit}
        {...tokens}
        left={tokensLeft > 0 ? words.tokensLeft(formatNumber(tokensLeft)) : words.tokensOver}
        hint={words.tokensHint(formatDay(tokens.resets_on))}
      />
    </div>
  )
}

interface AllowanceProps {
  title: string
  unit: string
  used: number
  limit: number
  left: string
  hint: ReactNode
}

function Allowance({ title, unit, used, limit, left, hint }: AllowanceProps) {
  return (
    <section className={styles.box} aria-label={title}>
      <h2>{title}</h2>
      <p className={styles.amount}>
        <strong>{formatNumber(used)}</strong> / {formatNumber(limit)} {unit}
      </p>
      <Meter label={title} used={used} limit={limit} />
      <p className={styles.left}>
        <span>{left}</span>
        <span>{percentOf(used, limit)}%</span>
      </p>
      <p className={styles.hint}>{hint}</p>
    </section>
  )
}
