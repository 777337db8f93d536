import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child } from './child'
import { type Mail, readMails } from './mail'
import type { Model } from './model'
import { compiled, seed, tsumugi } from './paths'

/** The password of both demo users. */
export const password = 'Tsumugi-Demo-1'

/** The links that the header and the menus show. */
const links = {
  TSUMUGI_LINK_NEWS: 'https://example.com/news',
  TSUMUGI_LINK_HELP: 'https://example.com/help',
}

/** The server's environment must not contain these variables of the developer's shell. */
const settings = /^(TSUMUGI|OPENAI|COGNITO|SLACK|OTEL)_|^(DATABASE|NATS|BLOB|SMTP)_URL$/
const surroundings = Object.fromEntries(Object.entries(process.env).filter(([name]) => !settings.test(name)))

/** Creates a folder for a server. It is in memory if there is enough space, because each server writes much. */
async function newFolder(): Promise<string> {
  const memory = '/dev/shm'
  const free = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  const folder = await mkdtemp(join(free > 4 * 2 ** 30 ? memory : tmpdir(), 'tsumugi-e2e-'))
  // As root, the database runs as another user, who needs access.
  await chmod(folder, 0o755)
  return folder
}

/** Copies a folder with the owners of its files, which include the database's user. */
async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

/** Runs bin/tsumugi with a separate database, data folder and port. */
export class Tsumugi {
  readonly url: string
  readonly #port: number
  readonly #folder: string
  readonly #env: NodeJS.ProcessEnv
  readonly #binary: string
  #child: Child | null = null

  private constructor(url: string, port: number, folder: string, env: NodeJS.ProcessEnv, binary: string) {
    this.url = url
    this.#binary = binary
    this.#port = port
    this.#folder = folder
    this.#env = env
  }

  /**
   * Creates the database with the schema and the demo organization. All servers start with copies of it, because a
   * first start takes three times as long.
   */
  static async createSeed(): Promise<void> {
    const server = await Tsumugi.#create(null, {}, tsumugi, '127.0.0.1')
    try {
      await server.resume()
      await server.drain()
      await rm(seed, { recursive: true, force: true })
      await copyFolder(server.#data, seed)
    } finally {
      await server.stop()
    }
  }

  /** Starts a server that uses this model; without one, its own offline engine answers. */
  static async start(
    model: Model | null,
    extra: NodeJS.ProcessEnv = {},
    binary = tsumugi,
    host = '127.0.0.1',
  ): Promise<Tsumugi> {
    const server = await Tsumugi.#create(model, extra, binary, host)
    try {
      await copyFolder(seed, server.#data)
      await server.resume()
    } catch (cause) {
      await server.stop()
      throw cause
    }
    return server
  }

  static async #create(
    model: Model | null,
    extra: NodeJS.ProcessEnv,
    binary: string,
    host: string,
  ): Promise<Tsumugi> {
    const folder = await newFolder()
    const env = {
      ...surroundings,
      ...links,
      TSUMUGI_CACHE: compiled,
      TSUMUGI_DEMO_PASSWORD: password,
      TSUMUGI_LIMITS: 'off', // All tests of a worker use the same two users.
      ...(model && { OPENAI_BASE_URL: model.baseURL, OPENAI_API_KEY: 'test' }),
      ...extra,
    }
    const port = await freePort()
    const url = `http://${host}:${port}`
    return new Tsumugi(url, port, folder, { TSUMUGI_PUBLIC_URL: url, ...env }, binary)
  }

  /** The data folder. */
  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** Restarts it on the same port and data. */
  async resume(): Promise<void> {
    const args = ['serve', '--listen', `127.0.0.1:${this.#port}`, '--data', this.#data]
    this.#child = new Child(this.#binary, args, this.#env)
    await this.#child.says(/Ctrl-C/)
    const ready = await fetch(`${this.url}/readyz`)
    if (!ready.ok) throw new Error(`not ready: ${ready.status}\n${this.#child.output}`)
  }

  /** Whether it is ready, as for a load balancer. */
  async ready(): Promise<boolean> {
    return fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  /** Stops it in order, and waits until it has finished. */
  async drain(): Promise<void> {
    await this.#child?.end('SIGTERM')
    this.#child = null
  }

  /** Runs an operator's command, such as `operate('contract', 'set', …)`. */
  async operate(...command: string[]): Promise<void> {
    await promisify(execFile)(tsumugi, [...command, '--data', this.#data])
  }

  /** Adds a member with the password of the demo users to an organization. */
  async addMember(organization: string, email: string, role: string): Promise<void> {
    const who = ['--organization', organization, '--email', email, '--name', email, '--role', role]
    const command = ['user', 'create', ...who, '--password-stdin', '--data', this.#data]
    const added = promisify(execFile)(tsumugi, command)
    added.child.stdin?.end(password)
    await added
  }

  /** Publishes a notice as an operator does. */
  async publish(title: string, body: string): Promise<void> {
    await this.operate('notification', 'publish', '--title', title, '--body', body)
  }

  /** The mails to an address, oldest first. Without an SMTP server they are stored in the data folder. */
  async mails(address: string): Promise<Mail[]> {
    const all = await readMails(join(this.#data, 'mail'))
    return all.filter((mail) => mail.to === address)
  }

  /** Kills the server. */
  async kill(): Promise<void> {
    await this.#child?.end('SIGKILL')
    this.#child = null
  }

  /** Stops the server and removes its data. */
  async stop(): Promise<void> {
    await this.#child?.end()
    this.#child = null
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Returns a port that no program uses. */
export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
