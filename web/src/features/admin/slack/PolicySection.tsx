import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { Choice } from '@/components/Choice'
import { FieldErrorText, TextArea } from '@/components/Field'
import { call, firstErrorMessage, type SlackConfig, type SlackPolicy } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { BoxedFacts, Fact, Section } from '../parts/Page'
import { storeSlack } from '../queries'
import saml from '../saml/Saml.module.css'
import { slack } from '../texts'
import { channelsOf, wrongChannel } from './channels'

const words = slack.policy

/** The allowed uses of Slack. */
export function PolicySection({ config, mayEdit }: { config: SlackConfig; mayEdit: boolean }) {
  return (
    <Section title={words.title}>
      {mayEdit ? <PolicyForm policy={config.policy} /> : <PolicyFacts policy={config.policy} />}
    </Section>
  )
}

function PolicyFacts({ policy }: { policy: SlackPolicy }) {
  return (
    <BoxedFacts>
      <Fact name={words.autoLink}>{policy.auto_link ? words.on : words.off}</Fact>
      <Fact name={words.shared}>{policy.shared_channels ? words.on : words.off}</Fact>
      <Fact name={words.channels}>{policy.channels.join('、') || words.all}</Fact>
    </BoxedFacts>
  )
}

function PolicyForm({ policy }: { policy: SlackPolicy }) {
  const [autoLink, setAutoLink] = useState(policy.auto_link)
  const [shared, setShared] = useState(policy.shared_channels)
  const [lines, setLines] = useState(policy.channels.join('\n'))
  const [wrong, setWrong] = useState<string>()
  const [failure, setFailure] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const mistake = wrongChannel(lines)
    setWrong(mistake)
    if (mistake !== undefined) return
    setBusy(true)
    setFailure('')
    try {
      const next = { auto_link: autoLink, shared_channels: shared, channels: channelsOf(lines) }
      const saved = await call('putSlackConfig', { body: { policy: next } })
      setLines(saved.policy.channels.join('\n'))
      await storeSlack(saved)
      toast(words.saved, { tone: 'success' })
    } catch (cause) {
      setFailure(firstErrorMessage(cause))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className={saml.form} noValidate onSubmit={(event) => void submit(event)}>
      <div className={saml.group}>
        <Choice label={words.autoLink} hint={words.autoLinkHint} checked={autoLink} onChange={setAutoLink} />
        <Choice label={words.shared} hint={words.sharedHint} checked={shared} onChange={setShared} />
        <TextArea
          label={words.channels}
          optional
          hint={words.channelsHint}
          error={wrong}
          className={saml.mono}
          rows={3}
          autoCapitalize="off"
          spellCheck={false}
          value={lines}
          onChange={(event) => {
            setLines(event.target.value)
            setWrong(undefined)
          }}
        />
      </div>
      <div role="alert">{failure !== '' && <FieldErrorText>{failure}</FieldErrorText>}</div>
      <div className={saml.formActions}>
        <Button type="submit" variant="primary" loading={busy}>
          {words.save}
        </Button>
      </div>
    </form>
  )
}
