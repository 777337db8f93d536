import { Button } from '@/components/Button'
import styles from './steps.module.css'
import { texts } from './texts'

/** Account shows the address that signs in, with a link to use another one. */
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
