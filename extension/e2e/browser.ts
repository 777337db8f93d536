import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type BrowserContext,
  test as base,
  type CDPSession,
  chromium,
  expect,
  type Page,
  type Worker,
} from '@playwright/test'
import { unzipSync } from 'fflate'
import { Account } from '../../web/e2e/support/account'
import { findBrowser } from '../../web/e2e/support/browser'
import { Model } from '../../web/e2e/support/model'
import { Tsumugi } from '../../web/e2e/support/tsumugi'
import { pages } from './pages'
import { Screen } from './screen'

/** Chromium with the extension. */
export class Browser {
  /** The errors in the extension's pages. */
  readonly troubles: string[] = []
  /** The extension's server.json while withoutServer has removed it. */
  #removed: Buffer | null = null

  private constructor(
    readonly context: BrowserContext,
    readonly id: string,
    readonly session: CDPSession,
    private readonly server: string,
    private readonly profile: string,
  ) {}

  /** Starts Chromium with the unpacked extension of a server, on a screen or without a window. */
  static async start(server: string, screen?: Screen): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), 'tsumugi-extension-'))
    const folder = join(profile, 'extension')
    await unpack(`${server}/extension/tsumugi.zip`, folder)
    // Debian's Chromium has an English interface. Without English texts, it shows the extension's default language.
    await rm(join(folder, '_locales', 'en'), { recursive: true })
    const context = await chromium.launchPersistentContext(join(profile, 'profile'), {
      headless: screen === undefined,
      ...(screen && { env: screen.env as Record<string, string>, viewport: null }),
      executablePath: findBrowser(),
      locale: 'ja-JP',
      timezoneId: 'Asia/Tokyo',
      permissions: ['clipboard-read', 'clipboard-write'],
      args: [
        '--no-sandbox',
        `--disable-extensions-except=${folder}`,
        `--load-extension=${folder}`,
        // Lets a test press the extension's button in the toolbar.
        '--enable-unsafe-extension-debugging',
      ],
    })
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
    const session = await context.browser()?.newBrowserCDPSession()
    if (session === undefined) throw new Error('no CDP session')
    const browser = new Browser(context, worker.url().split('/')[2] ?? '', session, server, profile)
    // Installing opens the settings.
    await expect.poll(() => context.pages().some((page) => page.url().endsWith('/options.html'))).toBe(true)
    return browser
  }

  /** Restores the state after the installation: one empty tab, no settings, a working network, and no session. */
  async reset(): Promise<void> {
    await this.context.unrouteAll({ behavior: 'ignoreErrors' })
    await this.context.setOffline(false)
    if (this.#removed !== null) await writeFile(this.#serverFile, this.#removed)
    this.#removed = null
    // A window without tabs closes, and Chromium does not open another one.
    const empty = await this.context.newPage()
    for (const page of this.context.pages()) if (page !== empty) await page.close()
    const sidePanel = await this.#sidePanel()
    if (sidePanel !== undefined) await this.session.send('Target.closeTarget', { targetId: sidePanel })
    await expect.poll(() => this.#sidePanel()).toBeUndefined()
    const page = await this.extensionPage('options.html')
    await page.evaluate(() => Promise.all([chrome.storage.local.clear(), chrome.storage.session.clear()]))
    const session = await this.context.newCDPSession(page)
    await session.send('Storage.clearDataForOrigin', { origin: this.server, storageTypes: 'all' })
    await this.context.clearCookies()
    await page.close()
    this.troubles.length = 0
  }

  get #serverFile(): string {
    return join(this.profile, 'extension', 'server.json')
  }

  async stop(): Promise<void> {
    await this.context.close()
    await rm(this.profile, { recursive: true, force: true, maxRetries: 10 })
  }

  /** Returns the extension's worker. If the browser has stopped it, waits until it starts again. */
  async worker(): Promise<Worker> {
    return this.context.serviceWorkers()[0] ?? this.context.waitForEvent('serviceworker')
  }

  /** Signs the extension in without the server's pages, which signin.spec.ts tests. */
  async signIn(origin: string, account: Account): Promise<void> {
    const page = await this.extensionPage('options.html')
    const grant = {
      origin,
      accessToken: account.idToken,
      refreshToken: '',
      expiresAt: Date.now() + 50 * 60_000,
    }
    await page.evaluate((values) => chrome.storage.local.set(values), { server: origin, grant })
    await page.close()
  }

  /** Removes the server's address, as in an extension that was not packed by a server. */
  async withoutServer(): Promise<void> {
    this.#removed = await readFile(this.#serverFile)
    await rm(this.#serverFile)
  }

  async extensionPage(name: string): Promise<Page> {
    const page = await this.context.newPage()
    page.on('pageerror', (error) => this.troubles.push(String(error.stack ?? error)))
    await page.goto(`chrome-extension://${this.id}/${name}`)
    return page
  }

  /** Opens a web page in the active tab. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage()
    await page.goto(url)
    await page.bringToFront()
    return page
  }

  /** Presses the extension's button in the toolbar, which opens the side panel and grants access to the tab. */
  async openSidePanel(page: Page): Promise<void> {
    await page.bringToFront()
    const { targetInfos } = await this.session.send('Target.getTargets', { filter: [{ type: 'tab' }] })
    const tab = targetInfos.find(({ url }) => url === page.url())
    if (tab === undefined) throw new Error(`no tab shows ${page.url()}`)
    await this.session.send(
      'Extensions.triggerAction' as never,
      { id: this.id, targetId: tab.targetId } as never,
    )
    await expect.poll(() => this.inSidePanel('document.body.innerText')).toMatch(/Tsumugi/)
  }

  /**
   * Presses the extension's button in the toolbar. Playwright cannot control a side panel. So press checks and closes
   * it, and opens the same page for the same tab in a tab.
   */
  async press(page: Page): Promise<Page> {
    await this.openSidePanel(page)
    await this.session.send('Target.closeTarget', { targetId: (await this.#sidePanel()) ?? '' })
    await expect.poll(() => this.#sidePanel()).toBeUndefined()
    const tabId = await (await this.worker()).evaluate(async (url) => {
      const tabs = await chrome.tabs.query({})
      // The browser hides the URLs of internal pages.
      return (tabs.find((tab) => tab.url === url) ?? tabs.find(({ active }) => active))?.id
    }, page.url())
    return this.extensionPage(`panel.html?tab=${tabId}`)
  }

  /** The target of the browser's own side panel. */
  async #sidePanel(): Promise<string | undefined> {
    const { targetInfos } = await this.session.send('Target.getTargets')
    return targetInfos.find(({ url }) => url.endsWith('/panel.html'))?.targetId
  }

  /** Evaluates an expression in the browser's side panel, which Playwright cannot access; undefined without one. */
  async inSidePanel(expression: string): Promise<unknown> {
    const targetId = await this.#sidePanel()
    if (targetId === undefined) return undefined
    const { sessionId } = await this.session.send('Target.attachToTarget', { targetId })
    const answer = new Promise<string>((resolve) => {
      const listen = (event: { sessionId?: string; message: string }) => {
        if (event.sessionId !== sessionId) return
        this.session.off('Target.receivedMessageFromTarget', listen)
        resolve(event.message)
      }
      this.session.on('Target.receivedMessageFromTarget', listen)
    })
    const message = { id: 1, method: 'Runtime.evaluate', params: { expression, returnByValue: true } }
    await this.session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify(message) })
    const { result } = JSON.parse(await answer) as { result?: { result?: { value?: unknown } } }
    await this.session.send('Target.detachFromTarget', { sessionId })
    return result?.result?.value
  }
}

async function unpack(archive: string, folder: string): Promise<void> {
  const response = await fetch(archive)
  if (!response.ok) throw new Error(`${archive}: ${response.status}`)
  for (const [name, content] of Object.entries(unzipSync(new Uint8Array(await response.arrayBuffer())))) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}

/** A web server with the pages to read. */
class Site {
  readonly #added = new Map<string, { readonly type: string; readonly body: Buffer }>()

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Site> {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://site')
      const page = site.#added.get(pathname) ?? pages[pathname]
      response.setHeader('content-type', page?.type ?? 'text/html; charset=utf-8')
      response.statusCode = page === undefined ? 404 : 200
      response.end(page?.body ?? '')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const site = new Site(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    return site
  }

  /** Adds a file, and returns its URL. */
  add(path: string, type: string, body: Buffer): string {
    this.#added.set(path, { type, body })
    return this.url + path
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

interface Fixtures {
  /** The browser as after the installation, without a session. */
  readonly installed: Browser
  /** The browser with the extension signed in. */
  readonly browserWith: Browser
  /** A browser with the extension signed in, in a window on `display`. */
  readonly windowed: Browser
  readonly display: Screen
  readonly account: Account
}

/** The tests of a worker share these: each takes seconds to start. */
interface WorkerFixtures {
  readonly model: Model
  readonly server: Tsumugi
  readonly site: Site
  readonly installation: Browser
  /** A screen with a browser on it; null if the machine has no X server. */
  readonly desktop: { readonly display: Screen; readonly browser: Browser } | null
}

/** Gives a test a browser without data of earlier tests, and checks its pages for errors. */
async function hand(browser: Browser, use: (browser: Browser) => Promise<void>): Promise<void> {
  await browser.reset()
  await use(browser)
  expect(browser.troubles).toEqual([])
}

/** The test function of all files in this folder. */
export const test = base.extend<Fixtures, WorkerFixtures>({
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
  site: [
    // biome-ignore lint/correctness/noEmptyPattern: as above.
    async ({}, use) => {
      const site = await Site.start()
      await use(site)
      await site.stop()
    },
    { scope: 'worker' },
  ],
  installation: [
    async ({ server }, use) => {
      const browser = await Browser.start(server.url)
      await use(browser)
      await browser.stop()
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  desktop: [
    async ({ server }, use) => {
      if (Screen.missing() !== '') return use(null)
      const display = await Screen.start()
      const browser = await Browser.start(server.url, display)
      await use({ display, browser })
      await browser.stop()
      await display.stop()
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  account: async ({ server }, use) => use(await Account.signIn(server.url, 'user')),
  installed: async ({ installation }, use) => hand(installation, use),
  browserWith: async ({ installed, server, account }, use) => {
    await installed.signIn(server.url, account)
    await use(installed)
  },
  display: async ({ desktop }, use) => {
    test.skip(desktop === null, `not installed: ${Screen.missing()}; scripts/browser installs them`)
    if (desktop !== null) await use(desktop.display)
  },
  windowed: async ({ desktop, server, account, display: _ }, use) => {
    if (desktop === null) return
    await hand(desktop.browser, async (browser) => {
      await browser.signIn(server.url, account)
      await use(browser)
    })
  },
})

export { expect }
