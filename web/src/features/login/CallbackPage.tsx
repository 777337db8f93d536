import { useLoaderData } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { Column } from '@/components/Column'
import type { Failure } from './callback'
import styles from './steps.module.css'
import { texts } from './texts'

/** Longer than any of our servers' messages, but too short for a page of injected text. */
const longest = 200

/** A failed single sign-on: why, and what to do. A successful one is never rendered. */
export function CallbackPage() {
  const { error, description } = useLoaderData<Failure>()
  const { callback } = texts
  const known = error === '' ? callback.interrupted : callback.errors[error as keyof typeof callback.errors]
  return (
    <Column title={callback.title} home="/" homeLabel={texts.home}>
      <div className={styles.form}>
        <p className={styles.body} role="alert">
          {known ?? callback.unknown}
        </p>
        {/* The address may come from anybody: only where no words of our own fit are its words shown, and as such. */}
        {!known && <Said error={error} description={description} />}
        <ButtonLink to="/login" variant="primary" size="lg" wide>
          {callback.again}
        </ButtonLink>
      </div>
    </Column>
  )
}

function Said({ error, description }: Failure) {
  return (
    <dl className={styles.said}>
      <dt>{texts.callback.code}</dt>
      <dd>{plain(error)}</dd>
      {description && (
        <>
          <dt>{texts.callback.said}</dt>
          <dd>{plain(description)}</dd>
        </>
      )}
    </dl>
  )
}

// Without line breaks and bidirectional control characters.
function plain(text: string): string {
  return [...text.replace(/[\p{C}\p{Z}]+/gu, ' ')].slice(0, longest).join('')
}
