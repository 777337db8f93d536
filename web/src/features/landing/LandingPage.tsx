import { useQuery } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { type ComponentType, useRef } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { Logo } from '@/components/Logo'
import { PageTitle } from '@/components/PageTitle'
import { configQuery } from '@/lib/api/queries'
import styles from './LandingPage.module.css'
import { examples, texts, written } from './texts'

interface Example {
  readonly skill: string
  readonly question: string
  readonly answer: string
  readonly sources?: readonly { readonly name: string; readonly page: number; readonly quote: string }[]
}

/** The component that renders an example as a chat, or null while it is loading. */
type Chat = ComponentType<Omit<Example, 'skill'> & { written?: boolean }> | null

/** LandingPage shows Tsumugi at work: an answer that is being written, and an example for each audience. */
export function LandingPage({ Chat }: { Chat: Chat }) {
  const how = useRef<HTMLElement>(null)
  return (
    <div className={styles.page}>
      <PageTitle />
      <header className={styles.header}>
        <Logo size={32} />
        <ButtonLink to="/login" variant="quiet">
          {texts.signIn}
        </ButtonLink>
      </header>
      <main tabIndex={-1}>
        <section className={styles.hero}>
          <h1 className={styles.headline}>
            {texts.headline.map((line) => (
              <span key={line}>{line}</span>
            ))}
          </h1>
          <div className={styles.lead}>
            <p>{texts.lead}</p>
            <div className={styles.actions}>
              <ButtonLink to="/login" variant="primary" size="lg">
                {texts.signIn}
                <ArrowRight size={18} aria-hidden />
              </ButtonLink>
              <Button
                size="lg"
                onClick={() => {
                  how.current?.scrollIntoView()
                  how.current?.focus({ preventScroll: true })
                }}
              >
                {texts.how}
              </Button>
            </div>
          </div>
          <h2 className="visually-hidden">{texts.example}</h2>
          <Screen example={written} Chat={Chat} written />
        </section>
        <section className={styles.examples} aria-label={texts.examples} tabIndex={-1} ref={how}>
          {examples.map((example) => (
            <article className={styles.example} key={example.mark}>
              <div className={styles.what}>
                <p className={styles.whom}>
                  <span className={styles.mark} aria-hidden>
                    {example.mark}
                  </span>
                  {example.whom}
                </p>
                <h2>{example.title}</h2>
                <p>{example.body}</p>
              </div>
              <Screen example={example} Chat={Chat} />
            </article>
          ))}
        </section>
      </main>
      <Footer />
    </div>
  )
}

/** Screen is a window with an example. Its height does not depend on its content, so that nothing below it moves. */
function Screen({
  example: { skill, ...chat },
  Chat,
  written = false,
}: {
  example: Example
  Chat: Chat
  written?: boolean
}) {
  return (
    <figure className={styles.screen} data-written={written || undefined}>
      <figcaption>{texts.skill(skill)}</figcaption>
      {Chat && <Chat {...chat} written={written} />}
    </figure>
  )
}

function Footer() {
  const { links } = useQuery(configQuery).data ?? {}
  const items = [
    { label: texts.news, href: links?.news },
    { label: texts.help, href: links?.help },
    { label: texts.terms, href: links?.terms },
  ].filter((item) => item.href)
  return (
    <footer className={styles.footer}>
      <span>Tsumugi</span>
      {items.length > 0 && (
        <nav aria-label={texts.links}>
          {items.map((item) => (
            <a key={item.label} href={item.href} target="_blank" rel="noreferrer">
              {item.label}
            </a>
          ))}
        </nav>
      )}
    </footer>
  )
}
