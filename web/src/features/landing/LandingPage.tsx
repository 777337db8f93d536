import { useQuery } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { ButtonLink } from '@/components/Button'
import { Logo } from '@/components/Logo'
import { PageTitle } from '@/components/PageTitle'
import { configQuery } from '@/lib/api/queries'
import styles from './LandingPage.module.css'
import { texts } from './texts'

/** LandingPage introduces Tsumugi and links to the sign-in. */
export function LandingPage() {
  return (
    <div className={styles.page}>
      <PageTitle />
      <header className={styles.header}>
        <Logo size={32} />
        <ButtonLink to="/login" variant="quiet">
          {texts.signIn}
        </ButtonLink>
      </header>
      <main className={styles.main} tabIndex={-1}>
        <section className={styles.hero}>
          <h1 className={styles.headline}>
            {texts.headline.map((line) => (
              <span key={line}>{line}</span>
            ))}
          </h1>
          <div className={styles.lead}>
            <p>{texts.lead}</p>
            <ButtonLink to="/login" variant="primary" size="lg">
              {texts.signIn}
              <ArrowRight size={18} aria-hidden />
            </ButtonLink>
          </div>
          <Thread />
        </section>
        <ul className={styles.features}>
          {texts.features.map((feature) => (
            <li key={feature.mark}>
              <span className={styles.mark} aria-hidden>
                {feature.mark}
              </span>
              <h2>{feature.title}</h2>
              <p>{feature.body}</p>
            </li>
          ))}
        </ul>
      </main>
      <Footer />
    </div>
  )
}

/** Thread draws a thread from the end of the headline to the button. */
function Thread() {
  return (
    <svg
      className={styles.thread}
      viewBox="0 0 800 200"
      preserveAspectRatio="none"
      fill="none"
      aria-hidden="true"
    >
      <path
        d="M800 0C800 120 700 170 560 168 430 166 420 70 480 70S520 178 400 180C270 182 200 96 0 96"
        stroke="currentColor"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
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
