import { build } from './build'
import { Child } from './child'
import { fakeSearch, readsFakePages } from './paths'
import { test } from './test'
import { Tsumugi } from './tsumugi'

/** A search server with pages: test/fakes/search. */
class Search {
  readonly #child: Child
  readonly url: string

  private constructor(child: Child, url: string) {
    this.#child = child
    this.url = url
  }

  /** Builds the programs, which no other test needs, and starts the server. */
  static async start(): Promise<Search> {
    build(fakeSearch, './test/fakes/search')
    build(readsFakePages, './cmd/tsumugi', 'fakepages')
    const child = new Child(fakeSearch, ['--listen', '127.0.0.1:0'])
    const [url] = await child.says(/http:\/\/\S+/)
    return new Search(child, url)
  }

  /** The settings of a server that uses this search, and may read its pages although they are on this machine. */
  get settings(): NodeJS.ProcessEnv {
    return { TSUMUGI_SEARCH_URL: this.url, FAKE_PAGES: new URL(this.url).host }
  }

  stop(): Promise<void> {
    return this.#child.end()
  }
}

interface Fixtures {
  readonly search: Search
}

/** Tests on a server that searches a web on this machine, and uses the scripted model. */
export const searching = test.extend<Fixtures>({
  search: [
    async ({ programs }, use) => use(await programs.get('search', () => Search.start())),
    { timeout: 300_000 },
  ],
  server: [
    async ({ programs, model, search }, use) =>
      use(await programs.get('searching', () => Tsumugi.start(model, search.settings, readsFakePages))),
    { scope: 'test', timeout: 300_000 },
  ],
})
