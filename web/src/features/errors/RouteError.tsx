import { isRouteErrorResponse, useRouteError } from 'react-router'
import { ApiError } from '@/lib/api'
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
  if (isMissingChunk(error)) return <OfflinePage />
  return <FailedPage requestId={error instanceof ApiError ? error.requestId : ''} />
}

// A part of the app that could not be fetched. Browsers agree on no name for it, only on these words.
function isMissingChunk(error: unknown): boolean {
  return error instanceof TypeError && /import|module|fetch/i.test(error.message)
}
