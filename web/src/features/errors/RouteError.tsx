import { useCallback, useEffect, useState } from 'react'
import { isRouteErrorResponse, useLocation, useNavigate, useRouteError } from 'react-router'
import { ApiError } from '@/lib/api'
import { mayReload, reloadOnce } from '@/lib/browser/reload'
import { FailedPage, ForbiddenPage, isReachable, NotFoundPage, OfflinePage } from './pages'

/** RouteError is the error page for a failed loader or component of a route. */
export function RouteError() {
  const error = useRouteError()
  const status = error instanceof ApiError || isRouteErrorResponse(error) ? error.status : undefined
  // The session has ended and the browser is loading /login, so an error page would be visible for a moment only.
  if (status === 401) return null
  if (status === 403) return <ForbiddenPage />
  // 400 means an invalid id in the URL, because loaders send no other user input.
  if (status === 404 || status === 400) return <NotFoundPage />
  if (error instanceof ApiError && error.offline) return <Offline />
  if (isMissingPart(error)) return <MissingPart />
  return <FailedPage requestId={error instanceof ApiError ? error.requestId : ''} />
}

/**
 * Offline loads the data of the page again when the server can be reached. The rest of the app stays. If the focus was on
 * its button, it moves to the loaded page, whose path is the same.
 */
function Offline() {
  const location = useLocation()
  const navigate = useNavigate()
  const retry = useCallback(() => {
    // A navigation to the same hash loads nothing.
    if (location.hash) window.location.reload()
    else void navigate(location, { replace: true, state: location.state })
  }, [location, navigate])
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body)
          document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
      })
    },
    [],
  )
  return <OfflinePage onReachable={retry} />
}

/**
 * MissingPart reloads the page once before it shows an error, because a deployment removes files of open pages. It is
 * used for chunks without which a page does not work, and therefore not for the renderer of answers.
 */
function MissingPart() {
  const [again, setAgain] = useState(mayReload)
  useEffect(() => {
    if (again) void isReachable().then((here) => (here ? reloadOnce() : setAgain(false)))
  }, [again])
  return again ? null : <OfflinePage />
}

// Browsers have no common error name for a script that could not be fetched, so the messages are compared. The message
// about styles is Vite's.
function isMissingPart(error: unknown): boolean {
  if (error instanceof TypeError) return /import|module|fetch/i.test(error.message)
  return error instanceof Error && error.message.startsWith('Unable to preload CSS')
}
