import { ButtonLink } from '@/components/Button'
import { Column } from '@/components/Column'
import styles from './steps.module.css'
import { texts } from './texts'

/** SignedOutPage is shown after signing out. */
export function SignedOutPage() {
  return (
    <Column title={texts.signedOut.title}>
      <div className={styles.form}>
        <p className={styles.body}>{texts.signedOut.body}</p>
        <ButtonLink to="/login" variant="primary" size="lg" wide>
          {texts.signedOut.again}
        </ButtonLink>
      </div>
    </Column>
  )
}
