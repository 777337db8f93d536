import { useState } from 'react'
import { Button } from '@/components/Button'
import { call, firstErrorMessage, type SlackConfig } from '@/lib/api'
import { toastFailure } from '@/lib/ui/toast'
import { Section } from '../parts/Page'
import { slack } from '../texts'
import styles from './Slack.module.css'

const words = slack.install

/** The third step: install the app in the workspace through Slack. */
export function InstallSection({ config }: { config: SlackConfig }) {
  const [busy, setBusy] = useState(false)
  const { client_id, client_secret, signing_secret, app_token } = config.credentials
  const ready = client_id !== '' && client_secret && (signing_secret || app_token)
  const install = async () => {
    setBusy(true)
    try {
      window.location.assign((await call('installSlack')).url)
    } catch (cause) {
      setBusy(false)
      toastFailure(words.failed(firstErrorMessage(cause)))
    }
  }
  return (
    <Section title={words.title} lead={ready ? words.lead : words.missing}>
      <div className={styles.actions}>
        <Button
          variant={config.workspace ? 'secondary' : 'primary'}
          disabled={!ready}
          loading={busy}
          onClick={() => void install()}
        >
          {config.workspace ? words.again : words.button}
        </Button>
      </div>
      <p className={styles.hint}>{words.verify}</p>
    </Section>
  )
}
