import { Button, ButtonLink } from '@/components/Button'
import type { AuthTypeAnswer } from '@/lib/api'
import { rememberedPlace } from '@/lib/place'
import { Account } from './Account'
import styles from './steps.module.css'
import { texts } from './texts'

/** Leads to the organization's own sign-in. */
export function FederatedStep({
  email,
  way,
  onBack,
}: {
  email: string
  way: AuthTypeAnswer
  onBack: () => void
}) {
  const go = () => {
    const next = rememberedPlace()
    const query = new URLSearchParams({ organization_id: way.organization_id, ...(next && { next }) })
    window.location.assign(`/v1/oauth2/authorize?${query}`)
  }
  return (
    <div className={styles.form}>
      <Account email={email} onBack={onBack} />
      <p className={styles.body}>{texts.federated.body}</p>
      <Button variant="primary" size="lg" wide autoFocus onClick={go}>
        {texts.federated.go}
      </Button>
      <ButtonLink className={styles.link} variant="link" to="/login/super-admin" state={{ email }}>
        {texts.federated.superAdmin}
      </ButtonLink>
    </div>
  )
}
