import { useEffect, useEffectEvent } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { rememberedPlace } from '@/entities/session/place'
import type { AuthTypeAnswer } from '@/lib/api'
import { oauth2Authorize } from '@/lib/api/signIn'
import { Account } from './Account'
import styles from './steps.module.css'
import { texts } from './texts'

/** FederatedStep goes to the organization's identity provider. Its button is for users who return from there. */
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
    window.location.assign(oauth2Authorize(way.organization_id, rememberedPlace()))
  }
  const goAtOnce = useEffectEvent(go)
  useEffect(() => goAtOnce(), [])
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
