import { type FormEvent, useCallback, useEffect, useId, useState } from 'react'
import { Button } from '@/components/Button'
import { Logo } from '@/components/Logo'
import { PRIVACY } from '../lib/privacy'
import { removeUnreviewed, unreviewedSites } from '../lib/review'
import { checkServer, readServer, type Server, saveServer, toOrigin } from '../lib/server'
import { onSession, readGrant, readJSON } from '../lib/session'
import { signOut } from '../lib/signIn'
import { type TextName, t } from '../lib/texts'
import { SignIn } from '../panel/Screens'
import styles from './Options.module.css'

/** The settings: the server, the session, and information about the data that is sent. */
export function Options() {
  const [server, setServer] = useState<Server | null>(null)
  const [signedIn, setSignedIn] = useState<boolean | null>(null)
  const look = useCallback(async () => {
    setServer(await readServer())
    setSignedIn((await readGrant()) !== null)
  }, [])
  useEffect(() => {
    void look()
    return onSession(() => void look())
  }, [look])
  const shown = signedIn !== null
  useEffect(() => {
    if (shown && location.hash === PRIVACY) document.querySelector(PRIVACY)?.scrollIntoView()
  }, [shown])
  if (signedIn === null) return null
  return (
    <main className={styles.page}>
      <Logo />
      <h1>{t('optionsTitle')}</h1>
      <section>
        <h2>{t('serverTitle')}</h2>
        <ServerForm server={server} />
      </section>
      {server !== null && (
        <section>
          <h2>{t('accountTitle')}</h2>
          {signedIn ? <Account /> : <SignIn origin={server.origin} />}
        </section>
      )}
      <section>
        <h2>{t('reviewTitle')}</h2>
        <Sites />
      </section>
      <section id={PRIVACY.slice(1)}>
        <h2>{t('privacyTitle')}</h2>
        <ul>
          <li>{t('privacyPoint1')}</li>
          <li>{t('privacyPoint2')}</li>
          <li>{t('privacyPointPdf')}</li>
          <li>{t('privacyPoint3')}</li>
          <li>{t('privacyPointHere')}</li>
        </ul>
        <p className={styles.quiet}>{t('shortcuts')}</p>
      </section>
    </main>
  )
}

function ServerForm({ server }: { server: Server | null }) {
  // Null until the user types.
  const [typed, setTyped] = useState<string | null>(null)
  const address = typed ?? server?.origin ?? ''
  const [said, say] = useState<TextName | null>(null)
  const [busy, setBusy] = useState(false)
  const id = useId()
  if (server?.managed) {
    return (
      <>
        <p className={styles.value}>{server.origin}</p>
        <p className={styles.quiet}>{t('serverManaged')}</p>
      </>
    )
  }
  const save = async () => {
    const origin = toOrigin(address)
    if (origin === null) return say('serverInvalid')
    setBusy(true)
    const wrong = await checkServer(origin)
    setBusy(false)
    if (wrong !== null) return say(wrong === 'other' ? 'serverOther' : 'serverUnreachable')
    await saveServer(origin)
    setTyped(null)
    say('serverSaved')
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  const wrong = said !== null && said !== 'serverSaved'
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <label htmlFor={id}>{t('serverLabel')}</label>
      <input
        id={id}
        type="text"
        inputMode="url"
        autoComplete="url"
        spellCheck={false}
        placeholder="https://tsumugi.example.jp"
        value={address}
        aria-invalid={wrong || undefined}
        aria-describedby={`${id}-said`}
        onChange={(event) => {
          setTyped(event.target.value)
          say(null)
        }}
      />
      <p id={`${id}-said`} className={wrong ? styles.error : styles.quiet} aria-live="polite">
        {said ? t(said) : t('setupNote')}
      </p>
      <Button type="submit" variant="primary" disabled={busy}>
        {t('serverSave')}
      </Button>
    </form>
  )
}

function Account() {
  const [name, setName] = useState('')
  useEffect(() => {
    readJSON<{ email?: string }>('/v1/me').then(
      ({ email = '' }) => setName(email),
      () => {},
    )
  }, [])
  return (
    <>
      {name !== '' && <p className={styles.value}>{t('signedIn', name)}</p>}
      <Button onClick={() => void signOut()}>{t('signOut')}</Button>
    </>
  )
}

function Sites() {
  const [sites, setSites] = useState<readonly string[]>([])
  useEffect(() => {
    void unreviewedSites().then(setSites)
  }, [])
  if (sites.length === 0) return <p>{t('reviewAlways')}</p>
  const remove = async (site: string) => {
    await removeUnreviewed(site)
    setSites(await unreviewedSites())
  }
  return (
    <>
      <p>{t('reviewSites')}</p>
      <ul>
        {sites.map((site) => (
          <li key={site}>
            {site}{' '}
            <Button variant="link" onClick={() => void remove(site)}>
              {t('remove')}
            </Button>
          </li>
        ))}
      </ul>
    </>
  )
}
