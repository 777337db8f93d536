import { createBrowserRouter, redirect, type ShouldRevalidateFunction } from 'react-router'
import { ForbiddenPage, NotFoundPage } from '@/features/errors/pages'
import { RouteError } from '@/features/errors/RouteError'
import { api } from '@/lib/api'
import { adminOnly, requireSession, signedIn, signingIn } from '@/lib/guard'
import { coverQuery } from '@/lib/place'
import { readToken } from '@/lib/token'
import { Booting, Root } from './Root'

const never: ShouldRevalidateFunction = () => false

/** A skill and its thread are loaded anew only when another one is opened. */
const onOtherThread: ShouldRevalidateFunction = ({ currentParams, nextParams }) =>
  currentParams.skillId !== nextParams.skillId || currentParams.threadId !== nextParams.threadId

/** All routes of the app. */
export const router = createBrowserRouter([
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
        lazy: { Component: async () => (await import('@/features/login/LoginPage')).LoginPage },
      },
      {
        path: '/login/super-admin',
        loader: signingIn,
        lazy: { Component: async () => (await import('@/features/login/SuperAdminPage')).SuperAdminPage },
      },
      {
        path: '/reset/password',
        loader: ({ request }) => {
          coverQuery(request)
          return null
        },
        shouldRevalidate: never,
        lazy: {
          Component: async () => (await import('@/features/login/ResetPasswordPage')).ResetPasswordPage,
        },
      },
      {
        path: '/oauth2/callback',
        loader: async (args) => {
          coverQuery(args.request)
          return (await import('@/features/login/callback')).callbackLoader(args)
        },
        shouldRevalidate: never,
        errorElement: <RouteError />,
        lazy: { Component: async () => (await import('@/features/login/CallbackPage')).CallbackPage },
      },
      {
        path: '/logout/success',
        loader: () => (readToken() === null ? null : redirect('/home')),
        lazy: { Component: async () => (await import('@/features/login/SignedOutPage')).SignedOutPage },
      },
      {
        path: '/home',
        loader: signedIn(),
        shouldRevalidate: never,
        errorElement: <RouteError />,
        lazy: { Component: async () => (await import('./HomeRoute')).HomeRoute },
        children: [
          { index: true, loader: () => redirect('/home/skill') },
          {
            path: 'skill',
            loader: signedIn(async (args) => {
              const { threadsLoader } = await import('@/features/threads/loader')
              return threadsLoader(args)
            }),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/threads/SkillLayout')).SkillLayout },
            children: [
              {
                index: true,
                errorElement: <RouteError />,
                lazy: {
                  loader: async () => signedIn((await import('@/features/skills/loader')).skillsLoader),
                  Component: async () => (await import('@/features/skills/SkillsPage')).SkillsPage,
                },
                shouldRevalidate: never,
              },
              {
                id: 'skill',
                path: ':skillId',
                errorElement: <RouteError />,
                lazy: { loader: async () => signedIn((await import('@/features/chat/routes')).skillLoader) },
                shouldRevalidate: onOtherThread,
                children: [
                  {
                    index: true,
                    lazy: { Component: async () => (await import('@/features/chat/routes')).SkillPage },
                  },
                  {
                    path: 'chat/:threadId',
                    lazy: { Component: async () => (await import('@/features/chat/routes')).ChatPage },
                  },
                ],
              },
            ],
          },
          { path: '*', Component: NotFoundPage },
        ],
      },
      {
        path: '/chat/:threadId',
        loader: signedIn(async ({ params, request }) => {
          const thread = await api.getThread(params.threadId ?? '', request.signal)
          return redirect(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
        }),
        element: null,
      },
      {
        path: '/setting',
        loader: ({ request }) => requireSession(request) ?? null,
        shouldRevalidate: never,
        errorElement: <RouteError />,
        lazy: { Component: async () => (await import('@/features/settings/SettingLayout')).SettingLayout },
        children: [
          { index: true, loader: () => redirect('/setting/change-password') },
          {
            path: 'change-password',
            lazy: {
              loader: async () => (await import('@/features/settings/loader')).changePasswordLoader,
              Component: async () =>
                (await import('@/features/settings/ChangePasswordPage')).ChangePasswordPage,
            },
          },
          { path: '*', Component: NotFoundPage },
        ],
      },
      {
        path: '/admin',
        loader: adminOnly(),
        shouldRevalidate: never,
        errorElement: <RouteError />,
        lazy: { Component: async () => (await import('@/features/admin/routes')).AdminLayout },
        children: [
          { index: true, loader: () => redirect('/admin/contract') },
          {
            path: 'contract',
            errorElement: <RouteError />,
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).contractLoader),
              Component: async () => (await import('@/features/admin/routes')).ContractPage,
            },
          },
          {
            path: 'organization/member',
            errorElement: <RouteError />,
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).membersLoader),
              Component: async () => (await import('@/features/admin/routes')).MembersPage,
            },
          },
          {
            path: 'saml',
            errorElement: <RouteError />,
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).samlLoader),
              Component: async () => (await import('@/features/admin/routes')).SamlPage,
            },
          },
          {
            path: 'saml/edit',
            errorElement: <RouteError />,
            shouldRevalidate: never,
            lazy: {
              loader: async () => adminOnly((await import('@/features/admin/routes')).samlEditLoader),
              Component: async () => (await import('@/features/admin/routes')).SamlEditPage,
            },
          },
          {
            path: 'audit',
            errorElement: <RouteError />,
            loader: adminOnly(),
            shouldRevalidate: never,
            lazy: { Component: async () => (await import('@/features/admin/routes')).AuditPage },
          },
          { path: '*', Component: NotFoundPage },
        ],
      },
      { path: '/forbidden', Component: ForbiddenPage },
      { path: '*', Component: NotFoundPage },
    ],
  },
])
