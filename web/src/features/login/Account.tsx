import { Button } from '@/components/Button'
import styles from './steps.module.css'
import { texts } from './texts'

/** Who is signing in, with the way back to another address. */
export function Account({ email, onBack }: { email: string; onBack: () => void }) {
  return (
    <div className={styles.account}>
      <span>
        <span className="visually-hidden">{texts.signingInAs} </span>
        {email}
      </span>
      <Button variant="link" size="sm" onClick={onBack}>
        {texts.otherAddress}
      </Button>
    </div>
  )
}
