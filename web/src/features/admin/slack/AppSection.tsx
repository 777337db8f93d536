import { useQuery } from '@tanstack/react-query'
import { Copy, ExternalLink } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { ErrorState, Skeleton } from '@/components/States'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Section } from '../parts/Page'
import { slackManifestQuery } from '../queries'
import saml from '../saml/Saml.module.css'
import { texts } from '../texts'
import styles from './Slack.module.css'

const words = texts.slack.app

/** The first step: create the app in Slack from a manifest. With socketOnly, it starts with Socket Mode. */
export function AppSection({ socketOnly }: { socketOnly: boolean }) {
  const [socket, setSocket] = useState(socketOnly)
  const { data: manifest, isError, refetch } = useQuery(slackManifestQuery(socket))
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(manifest ?? '')
      toast(texts.common.copied(words.manifest), { tone: 'success' })
    } catch {
      toastFailure(texts.common.notCopied)
    }
  }
  return (
    <Section title={words.title} lead={words.lead}>
      <ol className={saml.steps}>
        {words.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <Choice label={words.socket} hint={words.socketHint} checked={socket} onChange={setSocket} />
      {manifest === undefined && isError && <ErrorState onRetry={() => void refetch()} />}
      {manifest === undefined && !isError && <Skeleton height={220} radius={8} />}
      {manifest !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <pre className={styles.manifest} tabIndex={0} role="region" aria-label={words.manifest}>
          {manifest}
        </pre>
      )}
      <div className={styles.actions}>
        <Button disabled={manifest === undefined} onClick={() => void copy()}>
          <Copy size={15} aria-hidden />
          {words.copy}
        </Button>
        <a className={saml.download} href="https://api.slack.com/apps" target="_blank" rel="noreferrer">
          <ExternalLink size={15} aria-hidden />
          {words.open}
        </a>
      </div>
    </Section>
  )
}
