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

const loadAdmin = () => import('@/features/admin/routes')
const loadConnect = () => import('@/features/connect/routes')
const loadEditor = () => import('./SkillEditorRoute')
const loadHome = () => import('./home')
const loadHomeRoute = () => import('./HomeRoute')
const loadLogin = () => import('@/features/login/routes')
const loadProjects = () => import('@/features/project/routes')
const loadSettings = () => import('@/features/settings/routes')

/** part returns a function that loads an export of a chunk. */
function part<Chunk, Name extends keyof Chunk>(load: () => Promise<Chunk>, name: Name) {
  return async (): Promise<Chunk[Name]> => (await load())[name]
}

/** settingPage returns the route of a page of the settings. */
function settingPage(path: string, Component: Page): RouteObject {
  return { path, loader: signedIn(), lazy: { Component } }
}

/** passwordPage returns the route of a page of the settings for sessions by password. */
function passwordPage(path: string, Component: Page): RouteObject {
  return { path, lazy: { loader: part(loadSettings, 'passwordLoader'), Component } }
}

/** adminPage returns the route of an admin screen. `loader` starts loading its data. */
function adminPage(path: string, Component: Page, loader?: () => Promise<LoaderFunction>): RouteObject {
  const load: LoaderFunction = async (args, context) =>
    loader ? await (await loader())(args, context) : null
  return caught({ path, loader: adminOnly(load), shouldRevalidate: never, lazy: { Component } })
}

/** signedOut redirects signed-in users to the app. */
const signedOut = () => (readToken() === null ? null : redirect('/home'))

const conversationPage = part(loadHome, 'ConversationPage')

/** homeRoutes are the pages under /home. */
const homeRoutes: RouteObject[] = [
  { path: '/home', loader: () => redirect('/home/skill') },
  caught({
    path: '/home/skill',
    lazy: {
      loader: async () => signedIn((await loadHome()).skillsLoader),
      Component: part(loadHome, 'SkillsRoute'),
    },
    shouldRevalidate: never,
  }),
  page('/home/skill/library', async () => (await import('@/features/skillEditor/LibraryPage')).LibraryPage),
  page('/home/skill/leaving', async () => (await import('@/features/threads/LeavingPage')).LeavingPage),
  page('/home/skill/new', part(loadEditor, 'SkillEditorRoute')),
  page('/home/skill/:skillId/edit', part(loadEditor, 'SkillEditorRoute')),
  caught({
    id: 'skill',
    path: '/home/skill/:skillId',
    lazy: { loader: async () => signedIn((await loadHome()).skillLoader) },
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
  page('/home/project', part(loadProjects, 'ProjectsPage')),
  caught({
    path: '/home/project/:projectId',
    loader: signedIn(),
    shouldRevalidate: never,
    lazy: { Component: part(loadProjects, 'ProjectPage') },
    children: [
      { index: true, loader: ({ params }) => redirect(`/home/project/${params.projectId}/chat`) },
      { path: 'chat', lazy: { Component: part(loadProjects, 'ThreadsTab') } },
      { path: 'file', lazy: { Component: part(loadProjects, 'FilesTab') } },
      { path: 'member', lazy: { Component: part(loadProjects, 'MembersTab') } },
      { path: 'instructions', lazy: { Component: part(loadProjects, 'InstructionsTab') } },
      { path: 'setting', lazy: { Component: part(loadProjects, 'SettingsTab') } },
    ],
  }),
  ...['/home/*', '/chat/*', '/share/*'].map((path) => ({ path, Component: NotFoundPage })),
]

/** settingRoutes are the pages of the settings. */
const settingRoutes: RouteObject = caught({
  path: '/setting',
  lazy: { Component: part(loadSettings, 'SettingLayout') },
  children: [
    { index: true, loader: () => redirect('/setting/change-password') },
    passwordPage('change-password', part(loadSettings, 'ChangePasswordPage')),
    passwordPage('factor', part(loadSettings, 'FactorPage')),
    settingPage('about', part(loadSettings, 'AboutPage')),
    settingPage('session', part(loadSettings, 'SessionsPage')),
    settingPage('share', part(loadSettings, 'SharesPage')),
    settingPage('connections', part(loadSettings, 'ConnectionsPage')),
    settingPage('data', part(loadSettings, 'DataPage')),
    settingPage('slack', part(loadSettings, 'SlackPage')),
    { path: '*', Component: NotFoundPage },
  ],
})

/** adminRoutes are the admin screens. */
const adminRoutes: RouteObject = caught({
  path: '/admin',
  loader: adminOnly(),
  shouldRevalidate: never,
  lazy: { Component: part(loadAdmin, 'AdminLayout') },
  children: [
    { index: true, loader: () => redirect('/admin/contract') },
    adminPage('contract', part(loadAdmin, 'ContractPage'), part(loadAdmin, 'contractLoader')),
    adminPage('organization/member', part(loadAdmin, 'MembersPage'), part(loadAdmin, 'membersLoader')),
    adminPage('slack', part(loadAdmin, 'SlackPage'), part(loadAdmin, 'slackLoader')),
    adminPage('saml', part(loadAdmin, 'SamlPage'), part(loadAdmin, 'samlLoader')),
    adminPage('saml/edit', part(loadAdmin, 'SamlEditPage'), part(loadAdmin, 'samlEditLoader')),
    adminPage('saml/oidc', part(loadAdmin, 'OidcPage'), part(loadAdmin, 'samlLoader')),
    adminPage('saml/oidc/edit', part(loadAdmin, 'OidcEditPage'), part(loadAdmin, 'samlEditLoader')),
    adminPage('scim', part(loadAdmin, 'ScimPage')),
    adminPage('group', part(loadAdmin, 'GroupsPage')),
    adminPage('group/:groupId', part(loadAdmin, 'GroupPage')),
    adminPage('project', part(loadAdmin, 'ProjectsPage')),
    adminPage('instructions', part(loadAdmin, 'InstructionsPage')),
    adminPage('model', part(loadAdmin, 'ModelsPage')),
    adminPage('notice', part(loadAdmin, 'NoticesPage')),
    adminPage('notice/new', part(loadAdmin, 'NewNoticePage')),
    adminPage('notice/:noticeId', part(loadAdmin, 'NoticePage')),
    adminPage('retention', part(loadAdmin, 'RetentionPage')),
    adminPage('share', part(loadAdmin, 'SharesPage')),
    adminPage('connection', part(loadAdmin, 'ConnectionsPage')),
    adminPage('extension', part(loadAdmin, 'ExtensionPage')),
    adminPage('feedback', part(loadAdmin, 'FeedbackPage')),
    adminPage('audit', part(loadAdmin, 'AuditPage')),
    adminPage('tool', part(loadAdmin, 'ToolsPage')),
    adminPage('state', part(loadAdmin, 'StatePage')),
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
        loader: signedOut,
        lazy: { Component: async () => (await import('./LandingRoute')).LandingRoute },
      },
      { path: '/login', loader: signingIn, lazy: { Component: part(loadLogin, 'LoginPage') } },
      {
        path: '/login/super-admin',
        loader: signingIn,
        lazy: { Component: part(loadLogin, 'SuperAdminPage') },
      },
      caught({
        path: '/login/link',
        loader: async (args) => {
          hideQuery(args.request)
          return (await loadLogin()).linkLoader(args)
        },
        shouldRevalidate: never,
        lazy: { Component: part(loadLogin, 'LinkPage') },
      }),
      {
        path: '/reset/password',
        loader: ({ request }) => {
          hideQuery(request)
          return null
        },
        shouldRevalidate: never,
        lazy: { Component: part(loadLogin, 'ResetPasswordPage') },
      },
      caught({
        path: '/oauth2/callback',
        loader: async (args) => {
          hideQuery(args.request)
          return (await loadLogin()).callbackLoader(args)
        },
        shouldRevalidate: never,
        lazy: { Component: part(loadLogin, 'CallbackPage') },
      }),
      { path: '/logout/success', loader: signedOut, lazy: { Component: part(loadLogin, 'SignedOutPage') } },
      // The errors of pages are shown in the layout of signed-in users.
      caught({
        shouldRevalidate: never,
        lazy: {
          loader: async () => signedIn((await loadHomeRoute()).threadsLoader),
          Component: part(loadHomeRoute, 'HomeRoute'),
        },
        children: [
          ...homeRoutes,
          caught({
            path: '/chat/:threadId',
            lazy: { loader: async () => signedIn((await loadHome()).linkLoader) },
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
      page('/oauth/grant', part(loadConnect, 'GrantPage')),
      page('/oauth/confirmed', part(loadLogin, 'ConfirmedPage')),
      page('/oauth/device', part(loadConnect, 'DevicePage')),
      { path: '/forbidden', Component: ForbiddenPage },
      { path: '*', Component: NotFoundPage },
    ],
  },
]

/** makeRouter creates the router, which starts loading the page at once. */
export function makeRouter() {
  return createBrowserRouter(routes)
}
