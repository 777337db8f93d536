import type { ComponentType } from 'react'
import {
  createBrowserRouter,
  type LoaderFunction,
  type RouteObject,
  redirect,
  type ShouldRevalidateFunction,
} from 'react-router'
import { readToken } from '@/entities/identity/token'
import { adminOnly, signedIn, signingIn } from '@/entities/session/guard'
import { hideQuery } from '@/entities/session/place'
import { ForbiddenPage, NotFoundPage } from '@/features/errors/pages'
import { RouteError } from '@/features/errors/RouteError'
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

type Page = () => Promise<ComponentType>

/** page returns the route of a page for signed-in users that loads its own data. */
function page(path: string, Component: Page): RouteObject {
  return caught({ path, loader: signedIn(), shouldRevalidate: never, lazy: { Component } })
}

/** settingPage returns the route of a page of the settings. */
function settingPage(path: string, Component: Page): RouteObject {
  return { path, loader: signedIn(), lazy: { Component } }
}

const loadAdmin = () => import('@/features/admin/routes')

/** adminPage returns the route of an admin screen. `loader` starts loading its data. */
function adminPage(path: string, Component: Page, loader?: () => Promise<LoaderFunction>): RouteObject {
  const load: LoaderFunction = async (args, context) =>
    loader ? await (await loader())(args, context) : null
  return caught({ path, loader: adminOnly(load), shouldRevalidate: never, lazy: { Component } })
}

const conversationPage: Page = async () => (await import('./home')).ConversationPage

const loadProjects = () => import('@/features/project/routes')

/** homeRoutes are the pages under /home. */
const homeRoutes: RouteObject[] = [
  { path: '/home', loader: () => redirect('/home/skill') },
  caught({
    path: '/home/skill',
    lazy: {
      loader: async () => signedIn((await import('./home')).skillsLoader),
      Component: async () => (await import('./home')).SkillsRoute,
    },
    shouldRevalidate: never,
  }),
  page('/home/skill/library', async () => (await import('@/features/skillEditor/LibraryPage')).LibraryPage),
  page('/home/skill/leaving', async () => (await import('@/features/threads/LeavingPage')).LeavingPage),
  page('/home/skill/new', async () => (await import('./SkillEditorRoute')).SkillEditorRoute),
  page('/home/skill/:skillId/edit', async () => (await import('./SkillEditorRoute')).SkillEditorRoute),
  caught({
    id: 'skill',
    path: '/home/skill/:skillId',
    lazy: { loader: async () => signedIn((await import('./home')).skillLoader) },
    shouldRevalidate: onOtherThread,
    children: [
      { index: true, lazy: { Component: conversationPage } },
      { path: 'chat/:threadId', lazy: { Component: conversationPage } },
    ],
  }),
  caught({
    path: '/home/data-source',
    lazy: {
      loader: async () => signedIn((await import('@/features/sources/routes')).sourcesLoader),
      Component: async () => (await import('@/features/sources/routes')).SourcesPage,
    },
    shouldRevalidate: never,
  }),
  page('/home/project', async () => (await loadProjects()).ProjectsPage),
  caught({
    path: '/home/project/:projectId',
    loader: signedIn(),
    shouldRevalidate: never,
    lazy: { Component: async () => (await loadProjects()).ProjectPage },
    children: [
      { index: true, loader: ({ params }) => redirect(`/home/project/${params.projectId}/chat`) },
      { path: 'chat', lazy: { Component: async () => (await loadProjects()).ThreadsTab } },
      { path: 'file', lazy: { Component: async () => (await loadProjects()).FilesTab } },
      { path: 'member', lazy: { Component: async () => (await loadProjects()).MembersTab } },
      { path: 'instructions', lazy: { Component: async () => (await loadProjects()).InstructionsTab } },
      { path: 'setting', lazy: { Component: async () => (await loadProjects()).SettingsTab } },
    ],
  }),
  ...['/home/*', '/chat/*', '/share/*'].map((path) => ({ path, Component: NotFoundPage })),
]

/** settingRoutes are the pages of the settings. */
const settingRoutes: RouteObject = caught({
  path: '/setting',
  lazy: { Component: async () => (await import('@/features/settings/routes')).SettingLayout },
  children: [
    { index: true, loader: () => redirect('/setting/change-password') },
    {
      path: 'change-password',
      lazy: {
        loader: async () => (await import('@/features/settings/routes')).passwordLoader,
        Component: async () => (await import('@/features/settings/routes')).ChangePasswordPage,
      },
    },
    {
      path: 'factor',
      lazy: {
        loader: async () => (await import('@/features/settings/routes')).passwordLoader,
        Component: async () => (await import('@/features/settings/routes')).FactorPage,
      },
    },
    settingPage('about', async () => (await import('@/features/settings/routes')).AboutPage),
    settingPage('session', async () => (await import('@/features/settings/routes')).SessionsPage),
    settingPage('share', async () => (await import('@/features/settings/routes')).SharesPage),
    settingPage('connections', async () => (await import('@/features/settings/routes')).ConnectionsPage),
    settingPage('data', async () => (await import('@/features/settings/routes')).DataPage),
    settingPage('slack', async () => (await import('@/features/settings/routes')).SlackPage),
    { path: '*', Component: NotFoundPage },
  ],
})

/** adminRoutes are the admin screens. */
const adminRoutes: RouteObject = caught({
  path: '/admin',
  loader: adminOnly(),
  shouldRevalidate: never,
  lazy: { Component: async () => (await loadAdmin()).AdminLayout },
  children: [
    { index: true, loader: () => redirect('/admin/contract') },
    adminPage(
      'contract',
      async () => (await loadAdmin()).ContractPage,
      async () => (await loadAdmin()).contractLoader,
    ),
    adminPage(
      'organization/member',
      async () => (await loadAdmin()).MembersPage,
      async () => (await loadAdmin()).membersLoader,
    ),
    adminPage(
      'slack',
      async () => (await loadAdmin()).SlackPage,
      async () => (await loadAdmin()).slackLoader,
    ),
    adminPage(
      'saml',
      async () => (await loadAdmin()).SamlPage,
      async () => (await loadAdmin()).samlLoader,
    ),
    adminPage(
      'saml/edit',
      async () => (await loadAdmin()).SamlEditPage,
      async () => (await loadAdmin()).samlEditLoader,
    ),
    adminPage(
      'saml/oidc',
      async () => (await loadAdmin()).OidcPage,
      async () => (await loadAdmin()).samlLoader,
    ),
    adminPage(
      'saml/oidc/edit',
      async () => (await loadAdmin()).OidcEditPage,
      async () => (await loadAdmin()).samlEditLoader,
    ),
    adminPage('scim', async () => (await loadAdmin()).ScimPage),
    adminPage('group', async () => (await loadAdmin()).GroupsPage),
    adminPage('group/:groupId', async () => (await loadAdmin()).GroupPage),
    adminPage('project', async () => (await loadAdmin()).ProjectsPage),
    adminPage('instructions', async () => (await loadAdmin()).InstructionsPage),
    adminPage('model', async () => (await loadAdmin()).ModelsPage),
    adminPage('notice', async () => (await loadAdmin()).NoticesPage),
    adminPage('notice/new', async () => (await loadAdmin()).NewNoticePage),
    adminPage('notice/:noticeId', async () => (await loadAdmin()).NoticePage),
    adminPage('retention', async () => (await loadAdmin()).RetentionPage),
    adminPage('share', async () => (await loadAdmin()).SharesPage),
    adminPage('connection', async () => (await loadAdmin()).ConnectionsPage),
    adminPage('extension', async () => (await loadAdmin()).ExtensionPage),
    adminPage('feedback', async () => (await loadAdmin()).FeedbackPage),
    adminPage('audit', async () => (await loadAdmin()).AuditPage),
    adminPage('tool', async () => (await loadAdmin()).ToolsPage),
    adminPage('state', async () => (await loadAdmin()).StatePage),
    { path: '*', Component: NotFoundPage },
  ],
})

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
        lazy: { Component: async () => (await import('./LandingRoute')).LandingRoute },
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
      // The errors of pages are shown in the layout of signed-in users.
      caught({
        shouldRevalidate: never,
        lazy: {
          loader: async () => signedIn((await import('./HomeRoute')).threadsLoader),
          Component: async () => (await import('./HomeRoute')).HomeRoute,
        },
        children: [
          ...homeRoutes,
          caught({
            path: '/chat/:threadId',
            lazy: { loader: async () => signedIn((await import('./home')).linkLoader) },
            element: null,
          }),
          caught({
            path: '/share/:shareId',
            lazy: {
              loader: async () => signedIn((await import('@/features/share/routes')).shareLoader),
              Component: async () => (await import('@/features/share/routes')).SharePage,
            },
            shouldRevalidate: never,
          }),
          settingRoutes,
          adminRoutes,
        ],
      }),
      page('/oauth/grant', async () => (await import('@/features/connect/routes')).GrantPage),
      page('/oauth/confirmed', async () => (await import('@/features/login/routes')).ConfirmedPage),
      page('/oauth/device', async () => (await import('@/features/connect/routes')).DevicePage),
      { path: '/forbidden', Component: ForbiddenPage },
      { path: '*', Component: NotFoundPage },
    ],
  },
]

/** makeRouter creates the router, which starts loading the page at once. */
export function makeRouter() {
  return createBrowserRouter(routes)
}
