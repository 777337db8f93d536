import { Button } from '@/components/Button'
import styles from './steps.module.css'
import { texts } from './texts'

/** Account shows the address that signs in, with a link to use another one unless `onBack` is missing. */
export function Account({ email, onBack }: { email: string; onBack?: (() => void) | undefined }) {
  return (
    <div className={styles.account}>
      <span>
        <span className="visually-hidden">{texts.signingInAs} </span>
        {email}
      </span>
      {onBack && (
        <Button variant="link" size="sm" onClick={onBack}>
          {texts.otherAddress}
        </Button>
      )}
    </div>
  )
}
