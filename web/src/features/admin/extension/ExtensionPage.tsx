import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { EmptyState, ErrorState } from '@/components/States'
import { ApiError, type Extension } from '@/lib/api'
import { CopyFact, CopyValue } from '../parts/CopyValue'
import { BoxesLoading } from '../parts/Loading'
import { BoxedFacts, Fact, Notice, Page, Section } from '../parts/Page'
import { extensionQuery } from '../queries'
import saml from '../saml/Saml.module.css'
import { extension as words } from '../texts'
import styles from './ExtensionPage.module.css'
import { edgeRegistry, edgeSettings, forcelistValue, linuxPolicy, macProfile } from './policies'

/** The browser extension: its purpose, and its installation on the organization's computers. */
export function ExtensionPage() {
  const { data, error, isError, refetch } = useQuery(extensionQuery)
  const none = error instanceof ApiError && error.status === 404
  return (
    <Page title={words.title} lead={words.lead}>
      {none && <EmptyState title={words.none} />}
      {data === undefined && isError && !none && <ErrorState onRetry={() => void refetch()} />}
      {data === undefined && !isError && <BoxesLoading heights={[180, 320, 200]} />}
      {data && (
        <>
          <Distributed extension={data} />
          <Policies extension={data} />
          <ByHand />
          <Section title={words.privacy.title} lead={words.privacy.lead}>
            {null}
          </Section>
        </>
      )}
    </Page>
  )
}

function Distributed({ extension }: { extension: Extension }) {
  const { facts } = words
  return (
    <Section title={facts.title}>
      <BoxedFacts>
        <CopyFact name={facts.id} value={extension.id} />
        <Fact name={facts.version}>{extension.version}</Fact>
        <CopyFact name={facts.update} value={extension.update_url} />
        <CopyFact name={facts.server} value={extension.server_url} />
      </BoxedFacts>
    </Section>
  )
}

function Policies({ extension }: { extension: Extension }) {
  const { google, windows, edge, edgeAll, mac, linux } = words.policy
  return (
    <Section title={words.policy.title} lead={words.policy.lead}>
      <Notice level="info">{words.policy.joined}</Notice>
      <div className={styles.ways}>
        <Way title={google.title}>{google.body}</Way>
        <Way title={windows.title} label={windows.label} value={forcelistValue(extension)}>
          {windows.body}
        </Way>
        <Way title={edge.title} label={edge.label} value={edgeRegistry(extension)}>
          {edge.body}
        </Way>
        <Way title={edgeAll.title} label={edgeAll.label} value={edgeSettings(extension)}>
          {edgeAll.body}
        </Way>
        <Way title={mac.title} label={mac.label} value={macProfile(extension)}>
          {mac.body}
        </Way>
        <Way title={linux.title} label={linux.label} value={linuxPolicy(extension)}>
          {linux.body}
        </Way>
      </div>
    </Section>
  )
}

function Way({
  title,
  label,
  value,
  children,
}: {
  title: string
  label?: string
  value?: string
  children: ReactNode
}) {
  return (
    <div className={styles.way}>
      <h3>{title}</h3>
      <p>{children}</p>
      {label && value && (
        <div className={styles.value}>
          <CopyValue label={label} value={value} />
        </div>
      )}
    </div>
  )
}

function ByHand() {
  const { manual } = words
  return (
    <Section
      title={manual.title}
      lead={manual.lead}
      actions={
        <a className={saml.download} href="/extension/tsumugi.zip" download>
          <Download size={15} aria-hidden />
          {manual.download}
        </a>
      }
    >
      <ol className={saml.steps}>
        {manual.steps.map((step) => (
          <li key={step.text}>
            <div>
              {step.text}
              {'picture' in step && (
                <img {...step.picture} alt={step.picture.alt} className={styles.picture} loading="lazy" />
              )}
            </div>
          </li>
        ))}
      </ol>
    </Section>
  )
}
