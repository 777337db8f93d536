import { useQuery } from '@tanstack/react-query'
import { Monitor, Smartphone } from 'lucide-react'
import { Button } from '@/components/Button'
import { Loaded } from '@/components/States'
import { readToken } from '@/entities/identity/token'
import { ApiError, call, errorMessage, type UserSession } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Line } from './parts'
import styles from './SessionsPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

const words = texts.sessions

/** SessionsPage lists the user's sessions, with buttons to end them. */
export function SessionsPage() {
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: async ({ signal }) => (await call('listSessions', { signal })).items,
    staleTime: 0,
  })
  const { data, refetch } = query
  const others = data?.some((session) => !session.current) ?? false
  return (
    <SettingPage title={words.title}>
      <p className={styles.lead}>
        {readToken()?.authType === 'federated_idp' ? words.leadFederated : words.lead}
      </p>
      <Loaded query={query} loading={<p role="status">{words.loading}</p>}>
        {(all) => (
          <ul className={styles.list} aria-label={words.title}>
            {all.map((session) => (
              <SessionLine key={session.id} session={session} onEnded={() => void refetch()} />
            ))}
          </ul>
        )}
      </Loaded>
      <div className={styles.actions}>
        {others && (
          <EndButton
            label={words.endOthers}
            end={() => call('endOtherSessions')}
            onEnded={() => void refetch()}
          />
        )}
      </div>
    </SettingPage>
  )
}

function SessionLine({ session, onEnded }: { session: UserSession; onEnded: () => void }) {
  const { current, device, address, auth_type, began_at, last_used_at } = session
  const name = device || words.unknown
  const Icon = /iPhone|iPad|Android/.test(name) ? Smartphone : Monitor
  return (
    <Line
      icon={<Icon size={20} aria-hidden />}
      name={name}
      mark={current && words.current}
      facts={[
        words.used(formatDate(last_used_at), address),
        words.began(formatDate(began_at), words.ways[auth_type]),
      ]}
    >
      {!current && (
        <EndButton
          label={words.end}
          of={name}
          end={() => call('endSession', { session_id: session.id })}
          onEnded={onEnded}
        />
      )}
    </Line>
  )
}

interface EndButtonProps {
  label: string
  /** Identifies the button for screen readers, because several buttons have the same label. */
  of?: string
  end: () => Promise<void>
  onEnded: () => void
}

function EndButton({ label, of, end, onEnded }: EndButtonProps) {
  const { busy, run } = useTask()
  const act = () =>
    run(
      async () => {
        await end().catch((cause: unknown) => {
          // The session has already ended.
          if (!(cause instanceof ApiError && cause.status === 404)) throw cause
        })
        toast(words.ended, { tone: 'success' })
        onEnded()
      },
      (cause) => toastFailure(words.notEnded(errorMessage(cause, '')), () => void act()),
    )
  return (
    <Button size="sm" loading={busy} onClick={() => void act()}>
      {of && <span className="visually-hidden">{words.of(of)}</span>}
      {label}
    </Button>
  )
}
