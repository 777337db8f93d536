import { useEffect } from 'react'
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

const reload = (
  <Button variant="primary" onClick={() => window.location.reload()}>
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

/** OfflinePage is shown while the server cannot be reached, and reloads the page when it can be reached again. */
export function OfflinePage() {
  useEffect(() => {
    let away = false
    const look = async () => {
      const here = (await fetch('/ping').catch(() => null))?.ok
      if (here && away) window.location.reload()
      away ||= !here
    }
    void look()
    const timer = setInterval(look, 5000)
    return () => clearInterval(timer)
  }, [])
  return <ErrorPage {...texts.offline} actions={reload} />
}
