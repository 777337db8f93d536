import { randomBytes } from 'node:crypto'
import { expect, type Page } from '@playwright/test'
import { Child } from './child'
import type { Model } from './model'
import { fakeSlack } from './paths'
import { together } from './programs'
import { test as base } from './test'
import { Tsumugi } from './tsumugi'

/** A message in the workspace. */
export interface SlackMessage {
  readonly TS: string
  readonly ThreadTS: string
  readonly BotID: string
  readonly Text: string
  readonly Markdown: string
  /** The only person who sees it; empty if everyone does. */
  readonly For: string
  readonly Stream: string
  readonly Blocks: unknown
}

/** A fake Slack workspace: test/fakes/slack, with the people of its demonstration. */
export class Slack {
  readonly #child: Child
  readonly url: string

  /** The values of the app's pages at Slack. */
  static readonly app = {
    clientId: '1000.1001',
    clientSecret: 'demo-client-secret',
    signingSecret: '8f742231b10e8888abcd99yyyzzz85a5',
    botToken: 'xoxb-demo-1',
  } as const
  static readonly team = 'デモ商事'
  static readonly channel = 'C0GENERAL1'
  static readonly hanako = { id: 'U0HANAKO01', name: 'hanako' } as const
  static readonly taro = { id: 'U0TARO0001', name: 'taro' } as const
  static readonly guest = { id: 'U0GUEST001', name: 'guest' } as const

  private constructor(child: Child, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(): Promise<Slack> {
    const child = new Child(fakeSlack, ['--listen', '127.0.0.1:0', '--tiers=false'])
    const [, url = ''] = await child.says(/^(http:\S+)/)
    return new Slack(child, url)
  }

  stop(): Promise<void> {
    return this.#child.end()
  }

  /** The URL of the API for the server. */
  get apiURL(): string {
    return `${this.url}/api/`
  }

  /** Sends the app's events to a server, as configured in its manifest. */
  connect(server: string): Promise<void> {
    return this.#post('/control/connect', { server })
  }

  /** Posts a member's message in the channel. */
  say(as: string, text: string): Promise<void> {
    return this.#post('/ui/act', { act: 'say', as, channel: Slack.channel, text })
  }

  /** Sends a command of a member, without its name, in the channel, and waits for a notice with a text. */
  async command(as: string, text: string, notice: string): Promise<void> {
    await this.say(as, `/tsumugi ${text}`)
    await expect
      .poll(async () => (await this.messages()).filter((message) => message.For === as).at(-1)?.Text)
      .toContain(notice)
  }

  /** Presses a button of a message in the channel, by its action, as a person. */
  press(as: string, message: SlackMessage, action: string): Promise<void> {
    return this.#post('/ui/act', { act: 'click', as, channel: Slack.channel, ts: message.TS, action })
  }

  async messages(): Promise<SlackMessage[]> {
    return (await fetch(`${this.url}/control/messages?channel=${Slack.channel}`)).json() as Promise<
      SlackMessage[]
    >
  }

  /** The URL in the newest notice that only one person sees. */
  async invitation(person: string): Promise<string> {
    let found: string | undefined
    await expect
      .poll(async () => {
        const notices = (await this.messages()).filter((message) => message.For === person)
        found = JSON.stringify(notices.at(-1) ?? '').match(
          /https?:[^"\s]*\/setting\/slack\?state=[\w-]+/,
        )?.[0]
        return found
      })
      .toBeTruthy()
    return found as string
  }

  /** Answers as a person on the open page that asks for permission. */
  async answer(page: Page, person: string, allow = true): Promise<void> {
    await page.waitForURL(`${this.url}/**`)
    await page.getByLabel('どの人として答えますか').selectOption({ value: person })
    await page.getByRole('button', { name: allow ? '許可する' : 'キャンセル' }).click()
  }

  async #post(path: string, body: unknown): Promise<void> {
    const answer = await fetch(`${this.url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    const { ok, error } = (await answer.json()) as { ok: boolean; error?: string }
    if (!ok) throw new Error(`${path}: ${error}`)
  }
}

/** Starts a server that can store secrets, with a separate Slack. */
export async function startWithSlack(
  model: Model | null = null,
  extra: NodeJS.ProcessEnv = {},
  binary?: string,
) {
  const slack = await Slack.start()
  const env = {
    TSUMUGI_SECRET_KEY: randomBytes(32).toString('base64'),
    SLACK_API_URL: slack.apiURL,
    ...extra,
  }
  const server = await Tsumugi.start(model, env, binary)
  await slack.connect(server.url)
  return together({ slack, server })
}

interface Fixtures {
  readonly started: Awaited<ReturnType<typeof startWithSlack>>
  readonly slack: Slack
}

/** Returns a test whose server, with a separate Slack, start starts. Tests with the same name share it. */
export function testWithSlack(name: string, start: (model: Model) => Promise<Fixtures['started']>) {
  return base.extend<Fixtures>({
    started: [
      async ({ programs, model }, use) => use(await programs.get(name, () => start(model))),
      { timeout: 300_000 },
    ],
    slack: ({ started }, use) => use(started.slack),
    server: ({ started }, use) => use(started.server),
  })
}

/** Tests on a server that can store secrets, with a separate Slack. */
export const test = testWithSlack('slack', () => startWithSlack())
