import { useLoaderData } from 'react-router'
import { ButtonLink } from '@/components/Button'
import { Column } from '@/components/Column'
import { truncate } from '@/lib/ui/shorten'
import type { Failure } from './callback'
import styles from './steps.module.css'
import { texts } from './texts'

/** longest is the maximum length of a shown message. Messages of this server are shorter. */
const longest = 200

/** CallbackPage shows the reason for a failed single sign-on, and the next step. A successful one redirects. */
export function CallbackPage() {
  const { error, description } = useLoaderData<Failure>()
  const { callback } = texts
  const known = error === '' ? callback.interrupted : callback.errors[error as keyof typeof callback.errors]
  return (
    <Column title={callback.title}>
      <div className={styles.form}>
        <p className={styles.body} role="alert">
          {known ?? callback.unknown}
        </p>
        {/* The text in the URL is untrusted. It is shown, and marked, only if the app has no message for the error. */}
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

// plain removes line breaks and bidirectional control characters.
function plain(text: string): string {
  return truncate(text.replace(/[\p{C}\p{Z}]+/gu, ' '), longest)
}
