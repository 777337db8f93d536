import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { Account, type Who } from './account'
import { Chat } from './chat'
import { Model } from './model'
import { Tsumugi } from './tsumugi'
import { unhurried } from './unhurried'
import { watch } from './watch'

interface WorkerFixtures {
  /** The scripted model provider behind the server. */
  readonly model: Model
  /** The server under test, shared by the tests of a worker. */
  readonly server: Tsumugi
  /** Signs a demo user in outside the browser, once. */
  readonly signIn: (who: Who) => Promise<Account>
}

/** Opens a page on another device: it shares only the sign-in, not the storage. */
type Device = (url?: string) => Promise<Page>

interface TestFixtures {
  /** The account that is signed in when a test begins, or null. */
  readonly who: Who | null
  /** The user of the test, outside the browser. */
  readonly account: Account
  readonly chat: Chat
  readonly device: Device
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
    { scope: 'worker', timeout: 180_000 },
  ],
  server: [
    async ({ model }, use) => {
      const server = await Tsumugi.start(model)
      await use(server)
      await server.stop()
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  signIn: [
    async ({ server }, use) => {
      const accounts = new Map<Who, Promise<Account>>()
      await use(async (who) => {
        // An earlier test may have ended the session, by switching to single sign-on for example.
        const known = accounts.get(who)
        if (known && (await (await known).isSignedIn())) return known
        const account = Account.signIn(server.url, who)
        accounts.set(who, account)
        return account
      })
    },
    { scope: 'worker' },
  ],
  who: ['user', { option: true }],
  account: ({ who, signIn }, use) => signIn(who ?? 'user').then(use),
  baseURL: ({ server }, use) => use(server.url),
  storageState: ({ who, server, account }, use) =>
    use(who === null ? { cookies: [], origins: [] } : stateOf(server.url, account)),
  context: async ({ context }, use) => {
    const troubles = await watch(context)
    await unhurried(context)
    await use(context)
    expect(troubles, 'what went wrong in the pages').toEqual([])
  },
  device: async ({ browser, server, account }, use) => {
    const contexts: BrowserContext[] = []
    const troubles: (readonly string[])[] = []
    await use(async (url = server.url) => {
      const storageState = stateOf(url, account)
      const permissions = ['clipboard-read', 'clipboard-write']
      const context = await browser.newContext({ baseURL: url, storageState, permissions })
      contexts.push(context)
      troubles.push(await watch(context))
      await unhurried(context)
      return context.newPage()
    })
    for (const context of contexts) await context.close()
    expect(troubles.flat(), 'what went wrong in the pages').toEqual([])
  },
  chat: ({ page, account }, use) => use(new Chat(page, account)),
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  question: async ({}, use, info) => use(`${info.title}を確かめる質問です（${info.testId.slice(-6)}）。`),
})

function stateOf(origin: string, account: Account) {
  const localStorage = Object.entries(account.storage).map(([name, value]) => ({ name, value }))
  return { cookies: [], origins: [{ origin, localStorage }] }
}

export { expect }
