import { useCallback, useEffect, useRef, useState } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { CopyButton } from '@/components/CopyButton'
import { copyText } from '@/lib/browser/clipboard'
import { ErrorPage } from './ErrorPage'
import styles from './ErrorPage.module.css'
import { texts } from './texts'

const home = (
  <ButtonLink to="/home/skill" variant="primary">
    {texts.home}
  </ButtonLink>
)

const reloadPage = () => window.location.reload()

const reload = (
  <Button variant="primary" onClick={reloadPage}>
    {texts.reload}
  </Button>
)

/** NotFoundPage is the page for status 404. */
export function NotFoundPage() {
  return <ErrorPage code="404" {...texts.notFound} actions={home} />
}

/** ForbiddenPage is the page for status 403. */
export function ForbiddenPage() {
  return <ErrorPage code="403" {...texts.forbidden} actions={home} />
}

/** FailedPage is the page for status 500, with the request id for support. */
export function FailedPage({ requestId }: { requestId: string }) {
  return (
    <ErrorPage
      code="500"
      title={texts.failed.title}
      body={requestId ? texts.failed.body : texts.failed.bodyWithoutId}
      detail={
        requestId && (
          <p className={styles.id}>
            {texts.failed.requestId}
            <code>{requestId}</code>
            <CopyButton variant="link" copy={() => copyText(requestId)}>
              {texts.copy}
            </CopyButton>
          </p>
        )
      }
      actions={
        <>
          {reload}
          <ButtonLink to="/home/skill">{texts.home}</ButtonLink>
        </>
      }
    />
  )
}

/** isReachable reports whether the server responds. */
export async function isReachable(): Promise<boolean> {
  return (await fetch('/ping').catch(() => null))?.ok === true
}

/** OfflinePage is shown while the server cannot be reached. It calls `onReachable` when it can be reached again. */
export function OfflinePage({ onReachable = reloadPage }: { onReachable?: () => void }) {
  const away = useRef(false)
  const [asked, setAsked] = useState(false)
  const look = useCallback(async () => {
    const here = await isReachable()
    if (here && away.current) onReachable()
    away.current = !here
  }, [onReachable])
  useEffect(() => {
    void look()
    const timer = setInterval(look, 5000)
    return () => clearInterval(timer)
  }, [look])

  // Without a network, a reload would replace the app by an error of the browser.
  const retry = async () => {
    setAsked(true)
    away.current = true
    await look()
    setAsked(false)
  }
  return (
    <ErrorPage
      {...texts.offline}
      actions={
        <Button variant="primary" loading={asked} onClick={() => void retry()}>
          {texts.reload}
        </Button>
      }
    />
  )
}
