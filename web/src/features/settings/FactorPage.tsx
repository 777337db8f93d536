import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { FactorSetup } from '@/components/FactorSetup'
import { RecoveryCodes } from '@/components/RecoveryCodes'
import { Loaded } from '@/components/States'
import { endpointOf } from '@/entities/identity/identity'
import { createRecoveryCodes, type Factor, readFactor, setFactor } from '@/entities/identity/identityAccount'
import { freshToken } from '@/entities/session/session'
import { meQuery } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import styles from './FactorPage.module.css'
import { PasskeySection } from './PasskeySection'
import { PasswordDialog } from './PasswordDialog'
import { SettingPage } from './SettingPage'
import { TrustedDevices } from './TrustedDevices'
import { texts } from './texts'

const words = texts.factor

type Open = 'setup' | 'codes' | 'remove'

/** FactorPage sets up and removes the second factor of a user with a password, and creates recovery codes. */
export function FactorPage() {
  const query = useQuery({
    queryKey: ['factor'],
    queryFn: async () => {
      const record = await freshToken()
      return {
        factor: await readFactor(record),
        endpoint: await endpointOf(record),
        token: record.accessToken,
      }
    },
    staleTime: 0,
    refetchOnWindowFocus: false,
  })
  const { email } = useSuspenseQuery(meQuery).data
  const [open, setOpen] = useState<Open>()
  const [codes, setCodes] = useState<string[]>([])
  /** The confirmed password, while the user sets up an app. */
  const [password, setPassword] = useState('')
  const reload = () => void query.refetch()

  const newCodes = async (confirmed: string) => {
    setCodes(await createRecoveryCodes(await freshToken(), confirmed))
    setOpen(undefined)
    reload()
  }
  const enable = async () => {
    await setFactor(await freshToken(), password, true)
    setPassword('')
    toast(words.enabled, { tone: 'success' })
    // The factor is on, even if its recovery codes have to be created again.
    await newCodes(password).catch(() => {
      setOpen(undefined)
      toast(words.codesFailed, { tone: 'danger' })
      reload()
    })
  }
  const remove = async (confirmed: string) => {
    await setFactor(await freshToken(), confirmed, false)
    setCodes([])
    setOpen(undefined)
    toast(words.removed, { tone: 'success' })
    reload()
  }
  return (
    <SettingPage title={words.title}>
      <Loaded query={query} loading={<p role="status">{words.loading}</p>}>
        {({ factor, endpoint, token }) =>
          factor === null ? (
            <p>{words.unsupported}</p>
          ) : (
            <div className={styles.page}>
              <p className={styles.lead}>{words.lead}</p>
              <State factor={factor} onOpen={setOpen} setup={password !== ''} />
              {codes.length > 0 && <RecoveryCodes codes={codes} />}
              {password !== '' && !factor.enabled && (
                <FactorSetup
                  endpoint={endpoint}
                  holder={{ AccessToken: token, TsumugiPassword: password }}
                  email={email}
                  submit={words.submit}
                  onVerified={enable}
                />
              )}
              <PasskeySection email={email} onChange={reload} />
              {factor.enabled && <TrustedDevices />}
            </div>
          )
        }
      </Loaded>
      {open === 'setup' && (
        <PasswordDialog
          email={email}
          words={words.setupDialog}
          onConfirmed={async (confirmed) => {
            setPassword(confirmed)
            setOpen(undefined)
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'codes' && (
        <PasswordDialog
          email={email}
          words={words.codesDialog}
          onConfirmed={newCodes}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'remove' && (
        <PasswordDialog
          email={email}
          words={words.removeDialog}
          danger
          onConfirmed={remove}
          onClose={() => setOpen(undefined)}
        />
      )}
    </SettingPage>
  )
}

function State({ factor, setup, onOpen }: { factor: Factor; setup: boolean; onOpen: (open: Open) => void }) {
  if (!factor.enabled)
    return (
      <>
        <p>{factor.passkeys > 0 ? words.offWithPasskey(factor.recoveryCodes) : words.off}</p>
        {!setup && (
          <div className={styles.actions}>
            <Button variant="primary" onClick={() => onOpen('setup')}>
              {words.setup}
            </Button>
            {factor.passkeys > 0 && <Button onClick={() => onOpen('codes')}>{words.newCodes}</Button>}
          </div>
        )}
      </>
    )
  return (
    <>
      <p>{words.on(factor.recoveryCodes)}</p>
      {factor.required && <p className={styles.lead}>{words.required}</p>}
      <div className={styles.actions}>
        <Button onClick={() => onOpen('codes')}>{words.newCodes}</Button>
        {!factor.required && <Button onClick={() => onOpen('remove')}>{words.remove}</Button>}
      </div>
    </>
  )
}
