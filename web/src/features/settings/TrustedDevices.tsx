import { useQuery } from '@tanstack/react-query'
import { Monitor } from 'lucide-react'
import { Button } from '@/components/Button'
import { Loaded } from '@/components/States'
import { identityMessage } from '@/entities/identity/identityMessages'
import { forgetDevice, listTrustedDevices, type TrustedDevice } from '@/entities/identity/passkey'
import { freshToken } from '@/entities/session/session'
import { formatDate } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './FactorPage.module.css'
import { Line } from './parts'
import lines from './SessionsPage.module.css'
import { texts } from './texts'

const words = texts.trusted

/** TrustedDevices lists the browsers that the user trusts, with buttons to end the trust. */
export function TrustedDevices() {
  const query = useQuery({
    queryKey: ['trusted-devices'],
    queryFn: async () => listTrustedDevices(await freshToken()),
    staleTime: 0,
  })
  return (
    <section className={styles.section} aria-label={words.title}>
      <h2>{words.title}</h2>
      <p className={styles.lead}>{words.lead}</p>
      <Loaded query={query} loading={<p role="status">{texts.factor.loading}</p>}>
        {(devices) =>
          devices.length === 0 ? (
            <p>{words.empty}</p>
          ) : (
            <ul className={lines.list} aria-label={words.title}>
              {devices.map((device) => (
                <DeviceLine key={device.key} device={device} onForgotten={() => void query.refetch()} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  )
}

function DeviceLine({ device, onForgotten }: { device: TrustedDevice; onForgotten: () => void }) {
  const { busy, run } = useTask()
  const name = device.name || texts.sessions.unknown
  const forget = () =>
    void run(
      async () => {
        await forgetDevice(await freshToken(), device.key)
        toast(words.forgotten, { tone: 'success' })
        onForgotten()
      },
      (cause) => toast(identityMessage(cause), { tone: 'danger' }),
    )
  return (
    <Line
      icon={<Monitor size={20} aria-hidden />}
      name={name}
      facts={[words.since(formatDate(device.trustedAt))]}
    >
      <Button size="sm" loading={busy} onClick={forget}>
        <span className="visually-hidden">{words.of(name)}</span>
        {words.forget}
      </Button>
    </Line>
  )
}
