import { test as base, expect, type Page } from '@playwright/test'
import { Account, type Who } from './account'
import { Chat } from './chat'
import { Contexts, UnusedContexts } from './contexts'
import { Model } from './model'
import { Programs } from './programs'
import { Tsumugi } from './tsumugi'

interface WorkerFixtures {
  /** The scripted model provider behind the server. */
  readonly model: Model
  readonly programs: Programs
  readonly unusedContexts: UnusedContexts
}

/** Opens a page on another device: it shares only the sign-in, not the storage. */
type Device = (url?: string) => Promise<Page>

interface TestFixtures {
  /** The server under test, shared by the tests of a worker. */
  readonly server: Tsumugi
  /** Signs a demo user in outside the browser, once. */
  readonly signIn: (who: Who) => Promise<Account>
  /** The account that is signed in when a test begins, or null. */
  readonly who: Who | null
  /** The user of the test, outside the browser. */
  readonly account: Account
  readonly chat: Chat
  readonly contexts: Contexts
  readonly device: Device
  /** Opens a page for another signed-in account. */
  readonly pageAs: (account: Account) => Promise<Page>
  /** A unique question. */
  readonly question: string
}

/** The test function of all files: a page on the real server. Every error in the page fails the test. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  model: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the dependencies from this pattern.
    async ({}, use) => {
      const model = await Model.start()
      await use(model)
      await model.stop()
    },
    { scope: 'worker', timeout: 300_000 },
  ],
  programs: [
    // biome-ignore lint/correctness/noEmptyPattern: as above.
    async ({}, use) => {
      const programs = new Programs()
      await use(programs)
      await programs.stop()
    },
    { scope: 'worker', timeout: 300_000 },
  ],
  unusedContexts: [({ browser }, use) => use(new UnusedContexts(browser)), { scope: 'worker' }],
  server: [
    async ({ programs, model }, use) => use(await programs.get('server', () => Tsumugi.start(model))),
    { timeout: 300_000 },
  ],
  signIn: ({ server }, use) => use((who) => signIn(server, who)),
  who: ['user', { option: true }],
  account: ({ who, signIn }, use) => signIn(who ?? 'user').then(use),
  baseURL: ({ server }, use) => use(server.url),
  contexts: async ({ unusedContexts, viewport, hasTouch, isMobile }, use) => {
    const contexts = new Contexts(unusedContexts, { viewport, hasTouch, isMobile })
    await use(contexts)
    await contexts.release()
  },
  page: async ({ contexts, who, server, account }, use) =>
    use(await contexts.open(server.url, who === null ? {} : account.storage)),
  context: ({ page }, use) => use(page.context()),
  device: ({ contexts, server, account }, use) =>
    use((url = server.url) => contexts.open(url, account.storage)),
  pageAs: ({ contexts, server }, use) => use((account) => contexts.open(server.url, account.storage)),
  chat: ({ page, account }, use) => use(new Chat(page, account)),
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  question: async ({}, use, info) => use(`${info.title}を確かめる質問です（${info.testId.slice(-6)}）。`),
})

/** The demo users that are signed in, by server. */
const accounts = new WeakMap<Tsumugi, Map<Who, Promise<Account>>>()

async function signIn(server: Tsumugi, who: Who): Promise<Account> {
  const signedIn = accounts.get(server) ?? new Map<Who, Promise<Account>>()
  accounts.set(server, signedIn)
  // An earlier test may have ended the session, by switching to single sign-on for example.
  const known = signedIn.get(who)
  if (known && (await (await known).isSignedIn())) return known
  const account = Account.signIn(server.url, who)
  signedIn.set(who, account)
  return account
}

/** Tests on another server than the others. Tests with the same name share it. */
export function testOn(name: string, start: (model: Model) => Promise<Tsumugi>) {
  return test.extend({
    server: [
      async ({ programs, model }, use) => use(await programs.get(name, () => start(model))),
      { scope: 'test', timeout: 300_000 },
    ],
  })
}

/** Tests on a server without a model: its own engine answers. */
export const offline = testOn('offline', () => Tsumugi.start(null))

/** Tests on a server whose model sees pictures. */
export const seeing = testOn('seeing', (model) => Tsumugi.start(model, { OPENAI_VISION: 'true' }))

export { expect }
