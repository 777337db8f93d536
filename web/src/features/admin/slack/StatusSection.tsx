import { useState } from 'react'
import { Button } from '@/components/Button'
import { EndDialog } from '@/components/EndDialog'
import { call, firstErrorMessage, type SlackCheck, type SlackConfig } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { Checks } from '../parts/Checks'
import saml from '../saml/Saml.module.css'
import { slack as words } from '../texts'

/** Whether Slack is connected. Super-admins can test and end the connection. */
export function StatusSection({ config, mayEdit }: { config: SlackConfig; mayEdit: boolean }) {
  const [ending, setEnding] = useState(false)
  const { busy, run } = useTask()
  const [checks, setChecks] = useState<SlackCheck[]>()
  const { workspace, source } = config
  const test = async () => {
    await run(
      async () => {
        setChecks((await call('testSlack')).checks)
      },
      (cause) => toastFailure(firstErrorMessage(cause), () => void test()),
    )
  }
  return (
    <section className={saml.status} aria-label={words.status}>
      <div>
        <p className={saml.state} data-on={workspace ? true : undefined}>
          {workspace ? words.on : words.off}
        </p>
        {workspace && <p>{words.onBody(workspace.name)}</p>}
        {!workspace && !mayEdit && <p>{words.offReadOnly}</p>}
        {!workspace && mayEdit && config.storable && <p>{words.offBody}</p>}
      </div>
      {mayEdit && workspace && (
        <div className={saml.statusActions}>
          <Button loading={busy} onClick={() => void test()}>
            {busy ? words.testing : words.test}
          </Button>
          {source === 'stored' && (
            <Button variant="quietDanger" onClick={() => setEnding(true)}>
              {words.disconnect}
            </Button>
          )}
        </div>
      )}
      {checks && <Checks checks={checks} words={words} />}
      {ending && (
        <EndDialog
          words={words.disconnecting}
          end={() => call('deleteSlackConfig')}
          changes={['admin', 'getSlackConfig']}
          onClose={() => setEnding(false)}
        >
          <ul className={saml.consequences}>
            {words.disconnecting.items.map((item) => (
              <li key={item}>{item}</li>
            ))}
          </ul>
        </EndDialog>
      )}
    </section>
  )
}
