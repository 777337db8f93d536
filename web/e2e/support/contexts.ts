import {
  type Browser,
  type BrowserContext,
  expect,
  type Page,
  type PlaywrightTestOptions,
} from '@playwright/test'
import { unhurried } from './unhurried'
import { watch } from './watch'

/** The options of a context that tests change. */
type Options = Pick<PlaywrightTestOptions, 'viewport' | 'hasTouch' | 'isMobile'>

/** A context of a browser, and the errors in its pages. */
interface Entry {
  readonly key: string
  readonly context: BrowserContext
  readonly troubles: string[]
}

/** The maximum number of contexts to keep for other tests. */
const maxUnused = 4

/**
 * The contexts of a worker that no test uses at the moment. In a new context, or with an empty cache, the browser
 * compiles the app again, which takes longer than most tests. So tests reuse contexts with their cache.
 */
export class UnusedContexts {
  readonly #entries: Entry[] = []

  constructor(private readonly browser: Browser) {}

  /** Returns a context without pages, cookies and routes. Its storage may be that of an earlier test. */
  async take(baseURL: string, options: Options): Promise<Entry> {
    const key = JSON.stringify([baseURL, options])
    const index = this.#entries.findLastIndex((entry) => entry.key === key)
    const [known] = index < 0 ? [] : this.#entries.splice(index, 1)
    if (known !== undefined) return known
    // The other options are those of the configuration.
    const storageState = { cookies: [], origins: [] }
    const context = await this.browser.newContext({ ...options, baseURL, storageState })
    const troubles = await watch(context)
    await unhurried(context)
    return { key, context, troubles }
  }

  /** Resets a context for another test. */
  async put(entry: Entry): Promise<void> {
    const { context } = entry
    for (const page of context.pages()) {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await page.close()
    }
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await context.setOffline(false)
    await context.clearCookies()
    entry.troubles.length = 0
    this.#entries.push(entry)
    for (const { context: oldest } of this.#entries.splice(0, this.#entries.length - maxUnused))
      await oldest.close()
  }
}

/** The contexts of a test. */
export class Contexts {
  readonly #taken: Entry[] = []

  constructor(
    private readonly unused: UnusedContexts,
    private readonly options: Options,
  ) {}

  /** Opens an empty page in another context with this local storage. */
  async open(baseURL: string, storage: Readonly<Record<string, string>>): Promise<Page> {
    const entry = await this.unused.take(baseURL, this.options)
    this.#taken.push(entry)
    const page = await entry.context.newPage()
    const empty = `${baseURL}/empty`
    await page.route(empty, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    await page.goto(empty)
    await page.evaluate((items) => {
      localStorage.clear()
      for (const [name, value] of Object.entries(items)) localStorage.setItem(name, value)
    }, storage)
    await page.unroute(empty)
    return page
  }

  /** Releases the contexts after the test, which fails if there were errors in their pages. */
  async release(): Promise<void> {
    const troubles = this.#taken.flatMap((entry) => entry.troubles)
    for (const entry of this.#taken) await this.unused.put(entry)
    expect(troubles, 'what went wrong in the pages').toEqual([])
  }
}
