import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, NavLink, Outlet, useParams } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { PageTitle } from '@/components/PageTitle'
import { ErrorState } from '@/components/States'
import { ApiError, type Project } from '@/lib/api'
import { useCurrentLink } from '@/lib/ui/currentLink'
import { formatNumber } from '@/lib/ui/numbers'
import styles from './Project.module.css'
import { Empty, LinesLoading } from './parts'
import { projectQuery } from './queries'
import { texts } from './texts'

const words = texts.page

/** ProjectPage is the frame of a project's pages: its name and the tabs. */
export function ProjectPage() {
  const { projectId = '' } = useParams()
  const { data, error, refetch } = useQuery(projectQuery(projectId))
  // The API responds with 400 to an invalid id. A member who has lost access sees no old data.
  if (error instanceof ApiError && [400, 403, 404].includes(error.status)) return <Missing />
  // With another project, the tabs start again: lists keep the last results only for the same project.
  if (data !== undefined) return <Loaded key={data.id} project={data} />
  return (
    <Frame>
      <PageTitle>{texts.title}</PageTitle>
      {error === null ? <LinesLoading /> : <ErrorState onRetry={() => void refetch()} />}
    </Frame>
  )
}

function Frame({ children }: { children: ReactNode }) {
  return <div className={styles.page}>{children}</div>
}

function Missing() {
  return (
    <Frame>
      <PageTitle>{words.missing}</PageTitle>
      <h1 className="visually-hidden">{words.missing}</h1>
      <Empty title={words.missing} hint={words.missingHint}>
        <ButtonLink to="/home/project">{texts.all}</ButtonLink>
      </Empty>
    </Frame>
  )
}

function Loaded({ project }: { project: Project }) {
  const { id, name, description, archived, role, counts } = project
  const base = `/home/project/${id}`
  const nav = useCurrentLink()
  const tabs = [
    { to: `${base}/chat`, label: words.tabs.threads, count: counts.threads },
    { to: `${base}/file`, label: words.tabs.files, count: counts.data_sources },
    { to: `${base}/member`, label: words.tabs.members, count: counts.members },
    { to: `${base}/instructions`, label: words.tabs.instructions },
    { to: `${base}/setting`, label: words.tabs.settings },
  ]
  return (
    <Frame>
      <PageTitle>{name}</PageTitle>
      <header className={styles.place}>
        <Link to="/home/project">{texts.all}</Link>
        <h1>{name}</h1>
        {description && <p>{description}</p>}
        <p className={styles.quiet}>{words.role(texts.roles[role])}</p>
      </header>
      {archived && <p className={styles.notice}>{words.archived}</p>}
      <nav className={styles.tabs} aria-label={words.menu} ref={nav}>
        {tabs.map(({ to, label, count }) => (
          <NavLink key={to} className={styles.tab ?? ''} to={to} end>
            {label}
            {count !== undefined && count > 0 && <small>{formatNumber(count)}</small>}
          </NavLink>
        ))}
      </nav>
      <Outlet context={project} />
    </Frame>
  )
}
