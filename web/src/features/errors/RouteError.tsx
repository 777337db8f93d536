import { useEffect, useState } from 'react'
import { isRouteErrorResponse, useRouteError } from 'react-router'
import { ApiError } from '@/lib/api'
import { mayReload, reloadOnce } from '@/lib/browser/reload'
import { FailedPage, ForbiddenPage, NotFoundPage, OfflinePage } from './pages'

/** The page for whatever a route's loader or component threw. */
export function RouteError() {
  const error = useRouteError()
  const status = error instanceof ApiError || isRouteErrorResponse(error) ? error.status : undefined
  // The session has ended and the browser is on its way to /login; an error page in between would only flash.
  if (status === 401) return null
  if (status === 403) return <ForbiddenPage />
  // 400 is an id in the address that is none: nothing else in a loader's request comes from the person.
  if (status === 404 || status === 400) return <NotFoundPage />
  if (error instanceof ApiError && error.offline) return <OfflinePage />
  if (isMissingPart(error)) return <MissingPart />
  return <FailedPage requestId={error instanceof ApiError ? error.requestId : ''} />
}

/**
 * A deploy replaces the files that an open page still names: the page is loaded anew, once, before it is said to be out of
 * reach. Only where a page needs the part: without the renderer of answers, say, one can go on.
 */
function MissingPart() {
  const [again] = useState(mayReload)
  useEffect(() => {
    if (again) reloadOnce()
  }, [again])
  return again ? null : <OfflinePage />
}

// Browsers agree on no name for a script that could not be fetched, only on these words; those about styles are Vite's.
function isMissingPart(error: unknown): boolean {
  if (error instanceof TypeError) return /import|module|fetch/i.test(error.message)
  return error instanceof Error && error.message.startsWith('Unable to preload CSS')
}
