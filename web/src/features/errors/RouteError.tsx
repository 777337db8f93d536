import { useEffect, useState } from 'react'
import { isRouteErrorResponse, useRouteError } from 'react-router'
import { ApiError } from '@/lib/api'
import { mayReload, reloadOnce } from '@/lib/browser/reload'
import { FailedPage, ForbiddenPage, NotFoundPage, OfflinePage } from './pages'

/** The error page for a route's loader or component. */
export function RouteError() {
  const error = useRouteError()
  const status = error instanceof ApiError || isRouteErrorResponse(error) ? error.status : undefined
  // The session has ended and the browser is loading /login; an error page would only flash.
  if (status === 401) return null
  if (status === 403) return <ForbiddenPage />
  // 400 means an invalid id in the URL: nothing else in a loader's request comes from the user.
  if (status === 404 || status === 400) return <NotFoundPage />
  if (error instanceof ApiError && error.offline) return <OfflinePage />
  if (isMissingPart(error)) return <MissingPart />
  return <FailedPage requestId={error instanceof ApiError ? error.requestId : ''} />
}

/**
 * A deployment replaces the files that an open page refers to: the page is reloaded, once, before an error is shown.
 * Only if a page cannot work without the chunk, unlike the renderer of answers.
 */
function MissingPart() {
  const [again] = useState(mayReload)
  useEffect(() => {
    if (again) reloadOnce()
  }, [again])
  return again ? null : <OfflinePage />
}

// Browsers have no common error name for a script that could not be fetched, only these messages; the one about styles
// is Vite's.
function isMissingPart(error: unknown): boolean {
  if (error instanceof TypeError) return /import|module|fetch/i.test(error.message)
  return error instanceof Error && error.message.startsWith('Unable to preload CSS')
}
