import { useQuery } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { useState } from 'react'
import { Choice } from '@/components/Choice'
import { CopyButton } from '@/components/CopyButton'
import { ErrorState, Skeleton } from '@/components/States'
import { copyText } from '@/lib/browser/clipboard'
import { Section } from '../parts/Page'
import { slackManifestQuery } from '../queries'
import saml from '../saml/Saml.module.css'
import { slack } from '../texts'
import styles from './Slack.module.css'

const words = slack.app

/** The first step: create the app in Slack from a manifest. With socketOnly, it starts with Socket Mode. */
export function AppSection({ socketOnly }: { socketOnly: boolean }) {
  const [socket, setSocket] = useState(socketOnly)
  const { data: manifest, isError, refetch } = useQuery(slackManifestQuery(socket))
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
        <CopyButton disabled={manifest === undefined} copy={() => copyText(manifest ?? '')}>
          {words.copy}
        </CopyButton>
        <a className={saml.download} href="https://api.slack.com/apps" target="_blank" rel="noreferrer">
          <ExternalLink size={15} aria-hidden />
          {words.open}
        </a>
      </div>
    </Section>
  )
}
