import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const binary = `${root}.cache/fakeslack`

/** Builds the command, with the flags of scripts/build. vitest runs it once before all tests. */
export default function setup(): void {
  const flags = ['-trimpath', '-tags', 'disable_grpc_modules', '-o', binary]
  const env = { ...process.env, CGO_ENABLED: '0' }
  execFileSync('go', ['build', ...flags, './test/fakes/slack/fakeslack'], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
}

export const app = 'A0TSUMUGI1'
export const bot = 'U0TSUMUGI1'
export const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
export const token = 'xoxb-demo-1'
export const appToken = 'xapp-1-A0TSUMUGI1-1-demo'
export const team = 'T0DEMO0001'
export const sales = 'C0SALES001'
export const taro = 'U0TARO0001'

/** A stored message, with the fields that the checks read. */
export interface Message {
  readonly TS: string
  readonly User: string
  readonly Text: string
  readonly Markdown: string
  readonly Stream: string
}

/** A delivery of an event. */
interface Delivery {
  readonly Status: number
  readonly Reason: string
}

/** A running workspace. */
export class Fake {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(...args: string[]): Promise<Fake> {
    const child = spawn(binary, ['--listen', '127.0.0.1:0', '--tiers=false', ...args], { stdio: 'pipe' })
    const lines = createInterface({ input: child.stdout })
    const url = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      child.once('exit', () => reject(new Error('the workspace did not start')))
    })
    return new Fake(child, url)
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill()
    await ended
  }

  /** Performs an action as a person. */
  act<T = { ts: string }>(act: string, fields: object = {}): Promise<T> {
    return this.post('/ui/act', { act, as: taro, app, channel: sales, ...fields })
  }

  control(what: string, fields: object = {}): Promise<{ ok: boolean }> {
    return this.post(`/control/${what}`, fields)
  }

  messages(channel = sales): Promise<Message[]> {
    return this.get(`/control/messages?channel=${channel}`)
  }

  /** Waits until the deliveries of the last event of a type have ended, and returns the statuses. */
  async delivered(type: string): Promise<number[]> {
    for (;;) {
      const events = await this.get<{ Done: boolean; Deliveries: Delivery[] | null }[]>(
        `/control/events?type=${type}`,
      )
      const last = events.at(-1)
      if (last?.Deliveries?.length) return last.Deliveries.map((delivery) => delivery.Status)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  sockets(): Promise<number> {
    return this.get('/control/sockets')
  }

  private async post<T>(path: string, body: object): Promise<T> {
    const answer = await fetch(this.url + path, { method: 'POST', body: JSON.stringify(body) })
    return (await answer.json()) as T
  }

  private async get<T>(path: string): Promise<T> {
    return (await (await fetch(this.url + path)).json()) as T
  }
}

/** The error code of a call that must fail. */
export async function code(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (error) {
    const data = (error as { data?: { error?: string } }).data
    return data?.error ?? String(error)
  }
  return 'no error'
}
