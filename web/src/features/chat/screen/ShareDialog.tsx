import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from '@/components/Button'
import { CopyButton } from '@/components/CopyButton'
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
          <Button onClick={onClose}>{texts.close}</Button>
          {share === null && (
            <Button variant="primary" loading={busy === 'put'} onClick={put}>
              {words.create}
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
        {share ? (
          <Shared share={share}>
            <Button size="sm" loading={busy === 'put'} onClick={put}>
              {words.update}
            </Button>
            <Button size="sm" variant="quietDanger" loading={busy === 'end'} onClick={() => end(share.id)}>
              {words.end}
            </Button>
          </Shared>
        ) : (
          <p className={styles.quiet}>{words.snapshot}</p>
        )}
      </div>
    </Dialog>
  )
}

/** Shared shows the link with its copy button, the shared part, and the actions on it. */
function Shared({ share, children }: { share: Share; children: ReactNode }) {
  const url = shareUrl(share.id)
  return (
    <>
      <div className={styles.link}>
        <TextField
          label={words.link}
          readOnly
          value={url}
          onFocus={({ currentTarget: field }) => {
            field.select()
            // The browser scrolls to the end of a long link.
            requestAnimationFrame(() => field.scrollTo(0, 0))
          }}
        />
        <CopyButton variant="primary" size="lg" className={styles.copy} copy={() => copyText(url)}>
          <span>{words.copy}</span>
        </CopyButton>
      </div>
      <div className={styles.shared}>
        <p className={styles.quiet}>{words.shared(formatFull(share.updated_at), share.messages)}</p>
        {children}
      </div>
    </>
  )
}
