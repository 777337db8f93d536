import { Mail as Envelope } from 'lucide-react'
import { ExternalButtonLink } from '@/components/Button'
import { CopyButton } from '@/components/CopyButton'
import { copyText } from '@/lib/browser/clipboard'
import { toast } from '@/lib/ui/toast'
import { texts } from '../texts'
import styles from './MailCard.module.css'
import { type Mail, mailUrl } from './mail'

const words = texts.mail

/** MailCard shows a mail as its program would, with buttons to copy its parts and to open the program. */
export function MailCard({ mail, growing }: { mail: Mail; growing: boolean }) {
  return (
    <section className={styles.card} aria-label={words.label}>
      <dl className={styles.parts}>
        <dt>{words.subject}</dt>
        <dd className={styles.subject}>{mail.subject}</dd>
        <dt className="visually-hidden">{words.body}</dt>
        <dd className={styles.body}>{mail.body}</dd>
      </dl>
      {!growing && <MailActions mail={mail} />}
    </section>
  )
}

function MailActions({ mail }: { mail: Mail }) {
  const { subject, body } = mail
  const { url, complete } = mailUrl(mail)
  const copyLongBody = () => {
    copyText(body).then(
      () => toast(words.bodyToPaste, { duration: 10_000 }),
      () => toast(words.bodyTooLong, { duration: 10_000 }),
    )
  }
  return (
    <div className={styles.actions} data-print="hide">
      <CopyButton size="sm" variant="quiet" copy={() => copyText(subject)}>
        {texts.actions.copySubject}
      </CopyButton>
      <CopyButton size="sm" variant="quiet" copy={() => copyText(body)}>
        {texts.actions.copyBody}
      </CopyButton>
      <ExternalButtonLink size="sm" href={url} onClick={complete ? undefined : copyLongBody}>
        <Envelope size={14} aria-hidden />
        {words.open}
      </ExternalButtonLink>
    </div>
  )
}
