import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A connection to the server that can be cut: Chromium's own offline mode does not affect open streams. */
export class Line {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cut = false

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#cut) {
        near.destroy()
        return
      }
      const far = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from)
        from.pipe(to)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
      }
    })
  }

  static async start(url: string): Promise<Line> {
    const line = new Line(Number(new URL(url).port))
    await new Promise<void>((resolve) => line.#server.listen(0, '127.0.0.1', resolve))
    return line
  }

  /** The server's URL over this connection. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Closes open connections and accepts no new ones. */
  cut(): void {
    this.#cut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#cut = false
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
