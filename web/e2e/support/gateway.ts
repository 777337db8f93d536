import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

/** A gateway that adds a session's token to streams, serves one page, and cuts its first connections. */
export class Gateway {
  /** The cursor of each connection. */
  readonly cursors: (string | undefined)[] = []
  readonly #server: Server

  private constructor(server: string, idToken: string, script: string, cuts: readonly number[]) {
    this.#server = createServer(async (request, response) => {
      const path = request.url ?? '/'
      if (path === '/page.js') {
        response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
        return
      }
      if (!path.startsWith('/gateway/')) {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        response.end(
          '<!doctype html><link rel="icon" href="data:"><body><script type="module" src="/page.js"></script>',
        )
        return
      }
      const cursor = request.headers['last-event-id']
      const cut = cuts[this.cursors.push(String(cursor ?? '')) - 1]
      const answer = await fetch(`${server}/v1${path.slice('/gateway'.length)}`, {
        headers: { authorization: `Bearer ${idToken}`, ...(cursor && { 'last-event-id': String(cursor) }) },
      })
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      if (answer.body === null) {
        response.end()
        return
      }
      const body = Readable.fromWeb(answer.body as never)
      let sent = 0
      body.on('error', () => response.destroy())
      body.on('end', () => response.end())
      body.on('data', (bytes: Buffer) => {
        const left = (cut ?? Number.POSITIVE_INFINITY) - sent
        sent += bytes.length
        response.write(bytes.subarray(0, left), () => {
          if (bytes.length < left) return
          body.destroy()
          response.destroy()
        })
      })
    })
  }

  /** Starts a gateway that cuts its first connections after these numbers of bytes. */
  static async start(
    server: string,
    idToken: string,
    script: string,
    cuts: readonly number[],
  ): Promise<Gateway> {
    const gateway = new Gateway(server, idToken, script, cuts)
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve))
    return gateway
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
