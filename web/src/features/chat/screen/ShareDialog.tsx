import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextField } from '@/components/Field'
import { ErrorState } from '@/components/States'
import { endShare, shareOfQuery, shareThread, shareUrl } from '@/entities/share/shares'
import { errorMessage, type Share } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { copyText } from '@/lib/browser/clipboard'
import { formatFull } from '@/lib/ui/dates'
import { toast, toastFailure } from '@/lib/ui/toast'
import { texts } from '../texts'
import styles from './ShareDialog.module.css'

const words = texts.share

interface ShareDialogProps {
  threadId: string
  /** The last message on the screen. The link does not show later messages. */
  leaf: string
  onClose: () => void
}

/** ShareDialog shares a thread with the organization by a link, shows the shared part and revokes the link. */
export function ShareDialog({ threadId, leaf, onClose }: ShareDialogProps) {
  const { data: share, isError, refetch } = useQuery(shareOfQuery(threadId))
  const { data: me } = useQuery(meQuery)
  const [busy, setBusy] = useState<'put' | 'end' | null>(null)
  const run = async (what: 'put' | 'end', does: () => Promise<void>, done?: string) => {
    setBusy(what)
    try {
      await does()
      if (done) toast(done, { tone: 'success' })
    } catch (cause) {
      toastFailure(`${what === 'put' ? words.failed : words.endFailed}${errorMessage(cause, '')}`)
    } finally {
      setBusy(null)
    }
  }
  const put = () => void run('put', () => shareThread(threadId, leaf), share ? words.updated : undefined)
  const end = (id: string) => void run('end', () => endShare(id), words.ended)
  return (
    <Dialog
      title={words.title}
      wide
      onClose={onClose}
      actions={
        <>
          {share && (
            <Button
              className={styles.end}
              variant="danger"
              loading={busy === 'end'}
              onClick={() => end(share.id)}
            >
              {words.end}
            </Button>
          )}
          <Button onClick={onClose}>{words.close}</Button>
          {share !== undefined && (
            <Button variant={share ? 'secondary' : 'primary'} loading={busy === 'put'} onClick={put}>
              {share ? words.update : words.create}
            </Button>
          )}
        </>
      }
    >
      <div className={styles.body}>
        <p>{words.lead(me?.organization.name ?? '')}</p>
        {share === undefined && isError && (
          <ErrorState message={words.loadFailed} onRetry={() => void refetch()} />
        )}
        {share ? <Shared share={share} /> : <p className={styles.quiet}>{words.snapshot}</p>}
      </div>
    </Dialog>
  )
}

function Shared({ share }: { share: Share }) {
  const url = shareUrl(share.id)
  const copy = () =>
    copyText(url).then(
      () => toast(words.copied, { tone: 'success' }),
      () => toastFailure(words.copyFailed),
    )
  return (
    <>
      <div className={styles.link}>
        <TextField
          label={words.link}
          readOnly
          value={url}
          onFocus={(event) => event.currentTarget.select()}
        />
        <Button variant="primary" onClick={() => void copy()}>
          {words.copy}
        </Button>
      </div>
      <p className={styles.quiet}>{words.shared(formatFull(share.updated_at), share.messages)}</p>
    </>
  )
}
