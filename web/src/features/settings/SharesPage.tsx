import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { CopyIconButton } from '@/components/CopyButton'
import { Loaded } from '@/components/States'
import { endShare, ownSharesQuery, shareUrl } from '@/entities/share/shares'
import type { Share } from '@/lib/api'
import { copyText } from '@/lib/browser/clipboard'
import { formatDate } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Line } from './parts'
import styles from './SessionsPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

const words = texts.shares

/** The number of shown shares, which is the API's maximum. */
const PAGE = 100

/** SharesPage lists the user's shares within the organization, with buttons to end them. */
export function SharesPage() {
  const [offset, setOffset] = useState(0)
  const query = useQuery(ownSharesQuery({ offset, limit: PAGE }))
  const { data } = query
  return (
    <SettingPage title={words.title}>
      <p className={styles.lead}>{words.lead}</p>
      <Loaded query={query} empty={<p>{words.none}</p>}>
        {({ items }) =>
          items.length > 0 && (
            <ul className={styles.list} aria-label={words.title}>
              {items.map((share) => (
                <ShareLine key={share.id} share={share} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <div className={styles.actions}>
        {data && offset + data.items.length < data.total && (
          <Button onClick={() => setOffset(offset + PAGE)}>{words.next}</Button>
        )}
      </div>
    </SettingPage>
  )
}

function ShareLine({ share }: { share: Share }) {
  const { busy, run } = useTask()
  const end = () =>
    run(
      async () => {
        await endShare(share.id)
        toast(words.ended, { tone: 'success' })
      },
      () => toastFailure(words.notEnded, () => void end()),
    )
  return (
    <Line
      icon={<CopyIconButton label={words.copy(share.title)} copy={() => copyText(shareUrl(share.id))} />}
      name={<Link to={`/share/${share.id}`}>{share.title}</Link>}
      facts={[words.facts(share.skill.name, share.messages, formatDate(share.updated_at))]}
    >
      <Button size="sm" variant="quietDanger" loading={busy} onClick={() => void end()}>
        <span className="visually-hidden">{words.of(share.title)}</span>
        {words.end}
      </Button>
    </Line>
  )
}
