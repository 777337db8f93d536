import { createBrowserRouter, type RouteObject, redirect, type ShouldRevalidateFunction } from 'react-router'
import { readToken } from '@/entities/identity/token'
import { adminOnly, requireSession, signedIn, signingIn } from '@/entities/session/guard'
import { hideQuery } from '@/entities/session/place'
import { ForbiddenPage, NotFoundPage } from '@/features/errors/pages'
import { RouteError } from '@/features/errors/RouteError'
import { api } from '@/lib/api'
import { Booting, Root } from './Root'

const never: ShouldRevalidateFunction = () => false

/** onOtherThread reloads a skill and its thread only when another one is opened. */
const onOtherThread: ShouldRevalidateFunction = ({ currentParams, nextParams }) =>
  currentParams.skillId !== nextParams.skillId || currentParams.threadId !== nextParams.threadId

/**
 * caught returns a route that shows its errors in its place. The error boundary is on a parent route, because a
 * boundary on the route itself is not rendered if the route's chunk cannot be loaded.
 */
function caught(route: RouteObject): RouteObject {
  return { errorElement: <RouteError />, children: [route] }
}

const threadsLoader = signedIn(async (args) => (await import('./home')).threadsLoader(args))

/** All routes of the app. */
const routes: RouteObject[] = [
  {
    Component: Root,
    errorElement: <RouteError />,
    HydrateFallback: Booting,
    children: [
      {
        path: '/',
        loader: () => (readToken() === null ? null : redirect('/home')),
        lazy: { Component: async () => (await import('@/features/landing/LandingPage')).LandingPage },
      },
      {
        path: '/login',
        loader: signingIn,
        lazy: { Component: async () => (await import('@/features/login/routes')).LoginPage },
      },
      {
        path: '/login/super-admin',
        loader: signingIn,
        lazy: { Component: async () => (await import('@/features/login/routes')).SuperAdminPage },
      },
      caught({
        path: '/login/link',
        loader: async (args) => {
          hideQuery(args.request)
          return (await import('@/features/login/routes')).linkLoader(args)
        },
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/login/routes')).LinkPage },
      }),
      {
        path: '/reset/password',
        loader: ({ request }) => {
          hideQuery(request)
          return null
        },
        shouldRevalidate: never,
        lazy: {
          Component: async () => (await import('@/features/login/routes')).ResetPasswordPage,
        },
      },
      caught({
        path: '/oauth2/callback',
        loader: async (args) => {
          hideQuery(args.request)
          return (await import('@/features/login/routes')).callbackLoader(args)
        },
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/login/routes')).CallbackPage },
      }),
      {
        path: '/logout/success',
        loader: () => (readToken() === null ? null : redirect('/home')),
        lazy: { Component: async () => (await import('@/features/login/routes')).SignedOutPage },
      },
      caught({
        path: '/home',
        loader: signedIn(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('./home')).HomeRoute },
        children: [
          { index: true, loader: () => redirect('/home/skill') },
          {
            path: 'skill',
            loader: threadsLoader,
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('./home')).SkillLayout },
            children: [
              caught({
                index: true,
                lazy: {
                  loader: async () => signedIn((await import('./home')).skillsLoader),
                  Component: async () => (await import('./home')).SkillsRoute,
                },
                shouldRevalidate: never,
              }),
              caught({
                path: 'library',
                loader: signedIn(),
                shouldRevalidate: never,
                lazy: {
                  Component: async () => (await import('@/features/skillEditor/routes')).LibraryPage,
                },
              }),
              caught({
                path: 'leaving',
                loader: signedIn(),
                shouldRevalidate: never,
                lazy: { Component: async () => (await import('@/features/threads/LeavingPage')).LeavingPage },
              }),
              caught({
                path: 'new',
                loader: signedIn(),
                shouldRevalidate: never,
                lazy: { Component: async () => (await import('./SkillEditorRoute')).SkillEditorRoute },
              }),
              caught({
                path: ':skillId/edit',
                loader: signedIn(),
                shouldRevalidate: never,
                lazy: { Component: async () => (await import('./SkillEditorRoute')).SkillEditorRoute },
              }),
              caught({
                id: 'skill',
                path: ':skillId',
                lazy: { loader: async () => signedIn((await import('./home')).skillLoader) },
                shouldRevalidate: onOtherThread,
                children: [
                  {
                    index: true,
                    lazy: { Component: async () => (await import('./home')).SkillPage },
                  },
                  {
                    path: 'chat/:threadId',
                    lazy: { Component: async () => (await import('./home')).ChatPage },
                  },
                ],
              }),
            ],
          },
          caught({
            path: 'data-source',
            lazy: {
              loader: async () => signedIn((await import('@/features/sources/routes')).sourcesLoader),
              Component: async () => (await import('@/features/sources/routes')).SourcesPage,
            },
            shouldRevalidate: never,
          }),
          { path: '*', Component: NotFoundPage },
        ],
      }),
      // The error for a missing thread is shown in the layout of threads.
      caught({
        path: '/chat',
        loader: signedIn(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('./home')).HomeRoute },
        children: [
          {
            loader: threadsLoader,
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('./home')).SkillLayout },
            children: [
              caught({
                path: ':threadId',
                loader: signedIn(async ({ params, request }) => {
                  const thread = await api.getThread(params.threadId as string, request.signal)
                  return redirect(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
                }),
                element: null,
              }),
            ],
          },
          { path: '*', Component: NotFoundPage },
        ],
      }),
      caught({
        path: '/share',
        loader: signedIn(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('./HomeRoute')).HomeRoute },
        children: [
          caught({
            path: ':shareId',
            lazy: {
              loader: async () => signedIn((await import('@/features/share/routes')).shareLoader),
              Component: async () => (await import('@/features/share/routes')).SharePage,
            },
            shouldRevalidate: never,
          }),
          { path: '*', Component: NotFoundPage },
        ],
      }),
      caught({
        path: '/oauth/grant',
        loader: signedIn(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/connect/routes')).GrantPage },
      }),
      caught({
        path: '/oauth/device',
        loader: signedIn(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/connect/routes')).DevicePage },
      }),
      caught({
        path: '/setting',
        loader: ({ request }) => requireSession(request) ?? null,
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/settings/routes')).SettingLayout },
        children: [
          { index: true, loader: () => redirect('/setting/change-password') },
          {
            path: 'change-password',
            lazy: {
              loader: async () => (await import('@/features/settings/routes')).changePasswordLoader,
              Component: async () => (await import('@/features/settings/routes')).ChangePasswordPage,
            },
          },
          {
            path: 'about',
            lazy: {
              loader: async () => signedIn(),
              Component: async () => (await import('@/features/settings/AboutPage')).AboutPage,
            },
          },
          {
            path: 'session',
            lazy: {
              loader: async () => signedIn(),
              Component: async () => (await import('@/features/settings/routes')).SessionsPage,
            },
          },
          {
            path: 'share',
            lazy: {
              loader: async () => signedIn(),
              Component: async () => (await import('@/features/settings/SharesPage')).SharesPage,
            },
          },
          {
            path: 'connections',
            lazy: {
              loader: async () => signedIn(),
              Component: async () => (await import('@/features/settings/ConnectionsPage')).ConnectionsPage,
            },
          },
          {
            path: 'slack',
            lazy: {
              loader: async () => signedIn(),
              Component: async () => (await import('@/features/settings/SlackPage')).SlackPage,
            },
          },
          { path: '*', Component: NotFoundPage },
        ],
      }),
      caught({
        path: '/admin',
        loader: adminOnly(),
        shouldRevalidate: never,
        lazy: { Component: async () => (await import('@/features/admin/routes')).AdminLayout },
        children: [
          { index: true, loader: () => redirect('/admin/contract') },
          caught({
            path: 'contract',
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).contractLoader),
              Component: async () => (await import('@/features/admin/routes')).ContractPage,
            },
          }),
          caught({
            path: 'organization/member',
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).membersLoader),
              Component: async () => (await import('@/features/admin/routes')).MembersPage,
            },
          }),
          caught({
            path: 'slack',
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).slackLoader),
              Component: async () => (await import('@/features/admin/routes')).SlackPage,
            },
          }),
          caught({
            path: 'saml',
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).samlLoader),
              Component: async () => (await import('@/features/admin/routes')).SamlPage,
            },
          }),
          caught({
            path: 'saml/edit',
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).samlEditLoader),
              Component: async () => (await import('@/features/admin/routes')).SamlEditPage,
            },
          }),
          caught({
            path: 'instructions',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).InstructionsPage },
          }),
          caught({
            path: 'model',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).ModelsPage },
          }),
          caught({
            path: 'notice',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).NoticesPage },
          }),
          caught({
            path: 'notice/new',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).NewNoticePage },
          }),
          caught({
            path: 'notice/:noticeId',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).NoticePage },
          }),
          caught({
            path: 'retention',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).RetentionPage },
          }),
          caught({
            path: 'share',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).SharesPage },
          }),
          caught({
            path: 'connection',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).ConnectionsPage },
          }),
          caught({
            path: 'extension',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).ExtensionPage },
          }),
          caught({
            path: 'feedback',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).FeedbackPage },
          }),
          caught({
            path: 'audit',
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).AuditPage },
          }),
          { path: '*', Component: NotFoundPage },
        ],
      }),
      { path: '/forbidden', Component: ForbiddenPage },
      { path: '*', Component: NotFoundPage },
    ],
  },
]

/** makeRouter creates the router, which starts loading the page at once. */
export function makeRouter() {
  return createBrowserRouter(routes)
}
