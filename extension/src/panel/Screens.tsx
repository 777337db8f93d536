import { useAtomValue } from 'jotai'
import { Button } from '@/components/Button'
import { ThreadLine } from '@/components/ThreadLine'
import { type TextName, t } from '../lib/texts'
import type { Access } from './access'
import styles from './Panel.module.css'
import { cancelSignIn, idle, signInByCode, signInByWindow, signingInAtom } from './signingIn'

type Barred = Exclude<Access, { kind: 'ready' | 'loading' }>

/** The reason why the panel is unusable, with the next step. */
export function AccessScreen({ access, onRetry }: { access: Barred; onRetry: () => void }) {
  return (
    <section className={styles.screen}>
      <h2>{t(titleOf(access))}</h2>
      {access.kind !== 'setup' && <p>{noteOf(access)}</p>}
      <WayOut access={access} onRetry={onRetry} />
    </section>
  )
}

/** The same above a conversation, which stays readable. */
export function AccessNotice({ access, onRetry }: { access: Barred; onRetry: () => void }) {
  return (
    <section className={styles.banner} role="status">
      <p>{t(titleOf(access))}</p>
      <WayOut access={access} onRetry={onRetry} />
    </section>
  )
}

function titleOf(access: Barred): TextName {
  switch (access.kind) {
    case 'setup':
      return 'setupTitle'
    case 'offline':
      return 'offlineTitle'
    case 'unreachable':
      return 'unreachableTitle'
    case 'wrong':
      return 'wrongTitle'
    case 'signedOut':
      return (
        { none: 'signInTitle', ended: 'endedTitle', suspended: 'suspendedTitle', sso: 'ssoTitle' } as const
      )[access.reason]
  }
}

function noteOf(access: Barred): string {
  if (access.kind === 'setup') return t('setupNote')
  const { origin } = access.server
  switch (access.kind) {
    case 'offline':
      return t('offlineNote')
    case 'unreachable':
      return t('unreachableNote', origin)
    case 'wrong':
      return t(access.server.managed ? 'wrongManagedNote' : 'wrongNote', origin)
    case 'signedOut':
      if (access.reason === 'suspended') return t('suspendedNote')
      return access.reason === 'sso' ? t('ssoNote') : t('signInNote', origin)
  }
}

function WayOut({ access, onRetry }: { access: Barred; onRetry: () => void }) {
  switch (access.kind) {
    case 'setup':
      return (
        <>
          <p>{t('setupNote')}</p>
          <OpenSettings />
        </>
      )
    case 'offline':
    case 'unreachable':
      return <Button onClick={onRetry}>{t('again')}</Button>
    case 'wrong':
      return (
        <div className={styles.row}>
          {!access.server.managed && <OpenSettings />}
          <Button onClick={onRetry}>{t('again')}</Button>
        </div>
      )
    case 'signedOut':
      return access.reason === 'suspended' ? (
        <Button onClick={onRetry}>{t('again')}</Button>
      ) : (
        <SignIn origin={access.server.origin} />
      )
  }
}

function OpenSettings() {
  return (
    <Button variant="primary" onClick={() => void chrome.runtime.openOptionsPage()}>
      {t('openSettings')}
    </Button>
  )
}

/** Signs in through a browser window, or by a code if the window cannot reach the session. */
export function SignIn({ origin }: { origin: string }) {
  const now = useAtomValue(signingInAtom)
  const { busy, device, failure } = now.origin === origin ? now : idle
  if (device !== null) {
    return (
      <div className={styles.device}>
        <p className={styles.code}>{device.userCode}</p>
        <p>{t('codeNote', `${new URL(device.page).host}/oauth/device`)}</p>
        <ThreadLine running />
        <p role="status">{t('codeWaiting')}</p>
        <div className={styles.row}>
          <Button onClick={() => void chrome.tabs.create({ url: device.page })}>{t('openPage')}</Button>
          <Button onClick={cancelSignIn}>{t('cancel')}</Button>
        </div>
      </div>
    )
  }
  return (
    <>
      {failure && (
        <p className={styles.error} role="alert">
          {t(failure)}
        </p>
      )}
      <Button variant="primary" wide disabled={busy} onClick={() => void signInByWindow(origin)}>
        {t('signIn')}
      </Button>
      <Button variant="link" disabled={busy} onClick={() => void signInByCode(origin)}>
        {t('signInCode')}
      </Button>
    </>
  )
}
