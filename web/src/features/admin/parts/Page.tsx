import { ArrowLeft, Check, CircleAlert, Info, TriangleAlert } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { ButtonLink } from '@/components/Button'
import { PageHeading } from '@/components/PageHeading'
import { PageTitle } from '@/components/PageTitle'
import { layout } from '../texts'
import styles from './Page.module.css'
import table from './Table.module.css'

interface HeadedProps {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** A page of the admin screens: its heading with actions at the right, and its sections below. */
export function Page({ title, lead, actions, children }: HeadedProps) {
  return (
    <div className={styles.page}>
      <PageTitle>{`${title} | ${layout.title}`}</PageTitle>
      <div className={styles.head}>
        <PageHeading title={title} lead={lead} />
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** A link at the top of a page, back to the page above it. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <ButtonLink to={to}>
      <ArrowLeft size={16} aria-hidden />
      {children}
    </ButtonLink>
  )
}

/** A section of a page with its own heading. */
export function Section({ title, lead, actions, children }: HeadedProps) {
  const id = useId()
  return (
    <section className={styles.section} aria-labelledby={id}>
      <div className={styles.sectionHead}>
        <div>
          <h2 id={id}>{title}</h2>
          {lead && <p className={styles.sectionLead}>{lead}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  )
}

const icons = { info: Info, success: Check, warning: TriangleAlert, danger: CircleAlert } as const

/** An important notice at the top of the page. */
export function Notice({
  level,
  role,
  children,
}: {
  level: keyof typeof icons
  role?: 'alert' | 'status'
  children: ReactNode
}) {
  const Icon = icons[level]
  return (
    <div className={styles.notice} data-level={level} role={role}>
      <Icon size={18} aria-hidden />
      <div>{children}</div>
    </div>
  )
}

/** Names and values. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={styles.facts}>{children}</dl>
}

/** Names and values in a box, as wide as a table. */
export function BoxedFacts({ children }: { children: ReactNode }) {
  return (
    <div className={table.box}>
      <div className={styles.boxed}>
        <Facts>{children}</Facts>
      </div>
    </div>
  )
}

/** One name and its value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
