import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
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

/** Chromium with the extension, as a person has it. */
export class Browser {
  /** What went wrong in the extension's pages. */
  readonly troubles: string[] = []

  private constructor(
    readonly context: BrowserContext,
    readonly id: string,
    readonly session: CDPSession,
    readonly profile: string,
  ) {}

  /** Starts it with the extension that a server distributes, unpacked; on a screen, or without a window. */
  static async start(server: string, screen?: Screen): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), 'tsumugi-extension-'))
    const folder = join(profile, 'extension')
    await unpack(`${server}/extension/tsumugi.zip`, folder)
    // Debian's Chromium speaks English; without English texts it shows those of the default language.
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
    if (session === undefined) throw new Error('the browser takes no commands')
    const browser = new Browser(context, worker.url().split('/')[2] ?? '', session, profile)
    // Installing opens the settings.
    await expect.poll(() => context.pages().some((page) => page.url().endsWith('/options.html'))).toBe(true)
    // A window without tabs is closed, and no tab can be opened any more.
    if (screen) await context.newPage()
    for (const page of context.pages()) if (page.url().endsWith('/options.html')) await page.close()
    return browser
  }

  async stop(): Promise<void> {
    await this.context.close()
    await rm(this.profile, { recursive: true, force: true })
  }

  /** The extension's worker, which is started anew where the browser has ended it. */
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

  /** Makes it an extension that no server has packed. */
  async withoutServer(): Promise<void> {
    await rm(join(this.profile, 'extension', 'server.json'))
  }

  async extensionPage(name: string): Promise<Page> {
    const page = await this.context.newPage()
    page.on('pageerror', (error) => this.troubles.push(String(error.stack ?? error)))
    await page.goto(`chrome-extension://${this.id}/${name}`)
    return page
  }

  /** Opens a web page in the tab that is looked at. */
  async open(url: string): Promise<Page> {
    const page = await this.context.newPage()
    await page.goto(url)
    await page.bringToFront()
    return page
  }

  /**
   * Presses the extension's button in the toolbar, as a person does: it opens the panel and grants the tab. Playwright
   * cannot drive a side panel, so what opened is looked at and closed, and the same page beside the same tab is driven
   * in a tab.
   */
  async press(page: Page): Promise<Page> {
    await page.bringToFront()
    const { targetInfos } = await this.session.send('Target.getTargets', { filter: [{ type: 'tab' }] })
    const tab = targetInfos.find(({ url }) => url === page.url())
    if (tab === undefined) throw new Error(`no tab shows ${page.url()}`)
    await this.session.send(
      'Extensions.triggerAction' as never,
      { id: this.id, targetId: tab.targetId } as never,
    )
    await expect.poll(() => this.inSidePanel('document.body.innerText')).toMatch(/Tsumugi/)
    await this.session.send('Target.closeTarget', { targetId: (await this.#sidePanel()) ?? '' })
    await expect.poll(() => this.#sidePanel()).toBeUndefined()
    const tabId = await (await this.worker()).evaluate(async (url) => {
      const tabs = await chrome.tabs.query({})
      // The browser does not tell the address of its own pages.
      return (tabs.find((tab) => tab.url === url) ?? tabs.find(({ active }) => active))?.id
    }, page.url())
    return this.extensionPage(`panel.html?tab=${tabId}`)
  }

  /** The target of the browser's own side panel. */
  async #sidePanel(): Promise<string | undefined> {
    const { targetInfos } = await this.session.send('Target.getTargets')
    return targetInfos.find(({ url }) => url.endsWith('/panel.html'))?.targetId
  }

  /** What an expression is in the browser's own side panel, which Playwright does not know; undefined without one. */
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

/** The pages that are read, on a server of their own. */
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

  /** Adds a file, and returns its address. */
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
  /** With the extension as it is installed: nobody is signed in. */
  readonly installed: Browser
  /** With the extension signed in. */
  readonly browserWith: Browser
  /** With the extension signed in, in a window on `display`. */
  readonly windowed: Browser
  readonly display: Screen
  readonly account: Account
}

interface WorkerFixtures {
  readonly model: Model
  readonly server: Tsumugi
  readonly site: Site
}

/** The test of all files here. */
export const test = base.extend<Fixtures, WorkerFixtures>({
  model: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the dependencies off this pattern.
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
  account: async ({ server }, use) => use(await Account.signIn(server.url, 'user')),
  installed: async ({ server }, use) => {
    const browser = await Browser.start(server.url)
    await use(browser)
    await browser.stop()
    expect(browser.troubles).toEqual([])
  },
  browserWith: async ({ installed, server, account }, use) => {
    await installed.signIn(server.url, account)
    await use(installed)
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  display: async ({}, use) => {
    const missing = Screen.missing()
    test.skip(missing !== '', `not installed: ${missing}; scripts/browser installs them`)
    const screen = await Screen.start()
    await use(screen)
    await screen.stop()
  },
  windowed: async ({ server, account, display }, use) => {
    const browser = await Browser.start(server.url, display)
    await browser.signIn(server.url, account)
    await use(browser)
    await browser.stop()
    expect(browser.troubles).toEqual([])
  },
})

export { expect }
