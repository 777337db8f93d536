import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { PageTitle } from '@/components/PageTitle'
import { EmptyState, Loaded } from '@/components/States'
import { keepThreads, leavingQuery, retentionQuery } from '@/entities/thread/leaving'
import type { LeavingThread } from '@/lib/api'
import { formatDate, formatFull } from '@/lib/ui/dates'
import { toast, toastFailure } from '@/lib/ui/toast'
import styles from './LeavingPage.module.css'
import { Skeletons } from './Skeletons'
import { texts } from './texts'

const words = texts.leaving

/** The user's threads that will be deleted because nothing was asked in them, and the way to keep them. */
export function LeavingPage() {
  const { data: retention } = useQuery(retentionQuery)
  const query = useQuery(leavingQuery)
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const keep = async (ids: readonly string[]) => {
    setBusy(new Set(ids))
    const failed = await keepThreads(ids)
    setBusy(new Set())
    if (failed > 0) toastFailure(words.notKept(failed), () => void keep(ids))
    else toast(words.kept(ids.length), { tone: 'success' })
    // The line with the pressed button has gone.
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
  }
  const hidden = (retention?.leaving.threads ?? 0) - (query.data?.length ?? 0)
  return (
    <div className={styles.page}>
      <PageTitle>{words.title}</PageTitle>
      <header className={styles.head}>
        <Link to="/home/skill">{texts.skills}</Link>
        <h1>{words.title}</h1>
        {retention?.days !== undefined && <p>{words.lead(retention.days)}</p>}
      </header>
      <Loaded
        query={query}
        loading={<Skeletons />}
        empty={
          <EmptyState title={words.none}>
            <p>{words.noneHint}</p>
          </EmptyState>
        }
      >
        {(data) => (
          <>
            <div className={styles.actions}>
              <Button loading={busy.size > 1} onClick={() => void keep(data.map(({ thread }) => thread.id))}>
                {words.keepAll(data.length)}
              </Button>
            </div>
            <ul className={styles.list} aria-label={words.title}>
              {data.map((item) => (
                <Line
                  key={item.thread.id}
                  item={item}
                  busy={busy.has(item.thread.id)}
                  onKeep={() => void keep([item.thread.id])}
                />
              ))}
            </ul>
            {hidden > 0 && <p className={styles.more}>{words.more(hidden)}</p>}
          </>
        )}
      </Loaded>
    </div>
  )
}

function Line({ item, busy, onKeep }: { item: LeavingThread; busy: boolean; onKeep: () => void }) {
  const { thread, deletes_at } = item
  const title = thread.title || texts.untitled
  return (
    <li className={styles.line}>
      <div className={styles.what}>
        <Link to={`/home/skill/${thread.skill.id}/chat/${thread.id}`}>{title}</Link>
        <p>
          {words.facts(thread.skill.name, formatDate(thread.touched_at))}
          <time dateTime={deletes_at} title={formatFull(deletes_at)}>
            {words.deletes(formatDate(deletes_at))}
          </time>
        </p>
      </div>
      <Button size="sm" loading={busy} onClick={onKeep}>
        <span className="visually-hidden">{words.of(title)}</span>
        {words.keep}
      </Button>
    </li>
  )
}
