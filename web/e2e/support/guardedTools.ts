import { build } from './build'
import { Child } from './child'
import { fakeTools } from './paths'

/** A tool server, and the authorization server that issues tokens for it: the library oidc-provider. */
export class GuardedTools {
  private constructor(
    readonly url: string,
    readonly issuer: string,
    private readonly children: readonly Child[],
  ) {}

  static async start(): Promise<GuardedTools> {
    build(fakeTools, './test/fakes/tools')
    const program = new URL('./openidProvider.mjs', import.meta.url).pathname
    const provider = new Child(process.execPath, [program])
    const [, issuer = ''] = await provider.says(/issuer (http:\S+)/)
    const server = new Child(fakeTools, [
      ...['--listen', '127.0.0.1:0', '--issuer', issuer],
      ...['--introspection', `${issuer}/token/introspection`, '--secret', 'secret of the resource'],
    ])
    const [url] = await server.says(/http:\S+/)
    return new GuardedTools(url, issuer, [server, provider])
  }

  /** Revokes all tokens. Returns the number of tokens that were refreshed before. */
  async forget(): Promise<number> {
    return Number(await (await fetch(`${this.issuer}/forget`)).text())
  }

  async stop(): Promise<void> {
    for (const child of this.children) await child.end()
  }
}
