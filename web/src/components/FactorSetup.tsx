import { useQuery } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { readCode } from '@/entities/identity/code'
import type { Provider } from '@/entities/identity/identity'
import { associateApp, type FactorHolder, verifyApp } from '@/entities/identity/identityAccount'
import { identityMessage } from '@/entities/identity/identityMessages'
import { call } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { useInputs } from '@/lib/ui/inputs'
import { Button } from './Button'
import { CopyButton } from './CopyButton'
import styles from './FactorSetup.module.css'
import { FieldErrorText, TextField } from './Field'

const texts = {
  steps: [
    'スマートフォンに認証アプリ（Google Authenticator、Microsoft Authenticatorなど）を用意します。',
    '認証アプリで、次のQRコードを読み取ります。',
    '認証アプリに表示された6桁の確認コードを入力します。',
  ],
  image: '認証アプリで読み取るQRコード',
  manually: 'QRコードを読み取れないときは、次のキーを認証アプリに入力してください。',
  copy: 'キーをコピー',
  loading: 'QRコードを作成しています…',
  retry: 'やり直す',
  code: '確認コード',
  wrong: '確認コードは6桁の数字で入力してください。',
} as const

interface FactorSetupProps {
  endpoint: Provider['endpoint']
  holder: FactorHolder
  email: string
  submit: string
  /** `session` ends the challenge; '' for a signed-in user. */
  onVerified: (session: string) => Promise<void>
}

/** FactorSetup registers an authenticator app: it shows the QR code, and verifies the first code. */
export function FactorSetup({ endpoint, holder, email, submit, onVerified }: FactorSetupProps) {
  const query = useQuery(
    {
      queryKey: ['factor-setup', holder],
      queryFn: async () => {
        const app = await associateApp(endpoint, holder)
        const { image } = await call('drawFactorCode', { body: { email, secret: app.secret } })
        return { ...app, image }
      },
      // Another request would replace the secret that the user has scanned.
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 0,
      retry: false,
    },
    queryClient,
  )
  if (query.isError)
    return (
      <div className={styles.setup} role="alert">
        <FieldErrorText>{identityMessage(query.error, 'factor')}</FieldErrorText>
        <Button onClick={() => void query.refetch()}>{texts.retry}</Button>
      </div>
    )
  if (!query.data) return <p role="status">{texts.loading}</p>
  const { secret, image, holder: verifier } = query.data
  const verify = async (code: string) => onVerified(await verifyApp(endpoint, verifier, code))
  return (
    <div className={styles.setup}>
      <ol className={styles.steps}>
        {texts.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <div className={styles.code}>
        <img src={image} alt={texts.image} width={200} height={200} />
      </div>
      <div className={styles.secret}>
        <p>{texts.manually}</p>
        <code>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton size="sm" copy={() => navigator.clipboard.writeText(secret)}>
          {texts.copy}
        </CopyButton>
      </div>
      <FirstCode submit={submit} verify={verify} />
    </div>
  )
}

function FirstCode({ submit, verify }: { submit: string; verify: (code: string) => Promise<void> }) {
  const { busy, fail, field, value, run } = useInputs<'code'>()
  const send = (event: FormEvent) => {
    event.preventDefault()
    const code = readCode(value('code'))
    if (code === '') return fail('code', texts.wrong)
    void run(
      () => verify(code),
      (cause) => ['code', identityMessage(cause, 'factor')],
    )
  }
  return (
    <form className={styles.setup} noValidate onSubmit={send}>
      <TextField
        {...field('code')}
        label={texts.code}
        name="code"
        autoComplete="one-time-code"
        inputMode="numeric"
      />
      <Button type="submit" variant="primary" size="lg" wide loading={busy}>
        {submit}
      </Button>
    </form>
  )
}
