import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Child } from './child'
import { fakeModel } from './paths'

/** Directive describes a response of the scripted provider; internal/llm/llmtest's Directive describes the fields. */
export interface Directive {
  readonly text?: string
  readonly chars?: number
  readonly seed?: number
  readonly reasoning?: string
  readonly reasoning_chars?: number
  readonly reasoning_form?: 'reasoning_content' | 'reasoning' | 'think'
  readonly no_answer?: boolean
  readonly tokens_per_second?: number
  readonly token_chars?: number
  readonly first_token_ms?: number
  readonly fail?: 'kill' | 'eof' | 'error' | 'filter'
  readonly fail_after?: number
  readonly status?: number
  readonly title?: string
  readonly suggestions?: string
  readonly finish?: 'stop' | 'length'
  /** The calls of tools before the answer, a list for each request. */
  readonly tool_calls?: readonly (readonly { name: string; arguments: string }[])[]
  /** The wait after each piece of a call. */
  readonly call_ms?: number
  /** The answer consists of the results of these calls. */
  readonly results?: boolean
  /** The answer lists the pictures of the conversation. */
  readonly pictures?: boolean
}

interface WireMessage {
  role: string
  /** A text, or a list of parts that contains it. */
  content: string | { type: string; text?: string }[]
}

interface WireRequest {
  messages: WireMessage[]
}

/** Pause is a position in an answer where the provider waits. */
interface Pause {
  /** Resolves when everything before the position has been sent. */
  readonly reached: Promise<void>
  /** Continues the answer. */
  release(): void
}

interface Gate extends Pause {
  /** The number of events to forward first. */
  readonly after: number
  readonly reach: () => void
  readonly released: Promise<void>
}

/** Course has the gates of one answer, in order. */
interface Course {
  readonly question: string
  readonly gates: readonly Gate[]
}

/**
 * Model is the model provider of the tests: test/fakes/model behind a relay. The relay scripts the answers, counts the
 * requests for each question, and can hold an answer at a given point, so that a test does not race with it.
 */
export class Model {
  readonly #child: Child
  readonly #upstream: URL
  readonly #relay: Server
  readonly #asked: string[] = []
  readonly #systems = new Map<string, string>()
  readonly #requests = new Map<string, WireRequest>()
  readonly #scripts = new Map<
    string,
    { readonly directives: readonly Directive[]; readonly before: number }
  >()
  readonly #courses: Course[] = []
  readonly #titles: Course[] = []

  private constructor(child: Child, upstream: URL) {
    this.#child = child
    this.#upstream = upstream
    this.#relay = createServer((incoming, outgoing) => {
      this.#forward(incoming, outgoing).catch(() => outgoing.destroy())
    })
  }

  static async start(): Promise<Model> {
    const child = new Child(fakeModel, ['--listen', '127.0.0.1:0', '--tokens-per-second', '400'])
    const [address] = await child.says(/http:\/\/\S+/)
    const model = new Model(child, new URL(address))
    await new Promise<void>((resolve) => model.#relay.listen(0, '127.0.0.1', resolve))
    return model
  }

  async stop(): Promise<void> {
    for (const { gates } of [...this.#courses, ...this.#titles]) for (const gate of gates) gate.release()
    this.#relay.closeAllConnections()
    await new Promise((resolve) => this.#relay.close(resolve))
    await this.#child.end()
  }

  /** The value for OPENAI_BASE_URL. */
  get baseURL(): string {
    return `http://127.0.0.1:${(this.#relay.address() as AddressInfo).port}/v1`
  }

  /**
   * Sets the answers to a question: the first directive for the next request, and so on, then the last one for all
   * others.
   */
  script(question: string, ...directives: Directive[]): void {
    this.#scripts.delete(question) // The newest rule comes first.
    this.#scripts.set(question, { directives, before: this.asked(question) })
  }

  /** The number of requests with this question, without those for a title or suggestions. */
  asked(question: string): number {
    return this.#asked.filter((content) => content.includes(question)).length
  }

  /** The last question that contains a text, as the provider received it. */
  question(text: string): string {
    return this.#asked.findLast((content) => content.includes(text)) ?? ''
  }

  /** The instructions in the last request for a question. */
  instructions(question: string): string {
    return [...this.#systems].findLast(([content]) => content.includes(question))?.[1] ?? ''
  }

  /** The last request for a question. */
  request(question: string): WireRequest | undefined {
    return [...this.#requests].findLast(([content]) => content.includes(question))?.[1]
  }

  /** Holds the next answer to a question after the given number of events. */
  pause(question: string, after: number): Pause {
    const pause = gateAt(after)
    this.#courses.push({ question, gates: [pause] })
    return pause
  }

  /** Holds the title of the next thread that begins with a question. */
  pauseTitle(question: string): Pause {
    const pause = gateAt(0)
    this.#titles.push({ question, gates: [pause] })
    return pause
  }

  /** Holds the next answer to a question after each of these numbers of events. */
  pauses(question: string, ...after: number[]): Pause[] {
    const gates = after.map(gateAt)
    this.#courses.push({ question, gates })
    return gates
  }

  /** The whole text for a directive, from the provider itself. */
  async text(directive: Directive): Promise<string> {
    const response = await fetch(new URL('/v1/chat/completions', this.#upstream), {
      method: 'POST',
      body: JSON.stringify({
        model: 'test',
        messages: [{ role: 'user', content: `@script ${JSON.stringify(directive)}` }],
      }),
    })
    const answer = (await response.json()) as { choices: [{ message: WireMessage }] }
    return textOf(answer.choices[0].message)
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const { body, gates } = this.#direct(Buffer.concat(chunks))
    const upstream = request(
      new URL(incoming.url ?? '/', this.#upstream),
      {
        method: incoming.method ?? 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length },
      },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers)
        outgoing.flushHeaders()
        relay(response, outgoing, gates).catch(() => outgoing.destroy())
      },
    )
    upstream.on('error', () => outgoing.destroy())
    outgoing.on('close', () => upstream.destroy())
    upstream.end(body)
  }

  /** Replaces the question by its directive, if there is one. */
  #direct(body: Buffer): { body: Buffer; gates: readonly Gate[] } {
    if (body.length === 0) return { body, gates: [] }
    const wire = JSON.parse(body.toString()) as WireRequest
    const last = wire.messages.findLast((message) => message.role === 'user')
    if (last === undefined) return { body, gates: [] }
    const instructed = (instruction: string) =>
      wire.messages.some((message) => message.role === 'system' && textOf(message).includes(instruction))
    const title = instructed('見出しを一つだけ書いてください。')
    const suggestions = instructed('次に尋ねそうな質問を三つ書いてください。')
    const content = textOf(last)
    const script = [...this.#scripts].findLast(([question]) => content.includes(question))
    if (script !== undefined) {
      const [question, { directives, before }] = script
      const times = title || suggestions ? 0 : this.asked(question) - before
      setText(last, `@script ${JSON.stringify(directives[Math.min(times, directives.length - 1)] ?? {})}`)
    }
    if (suggestions) return { body: Buffer.from(JSON.stringify(wire)), gates: [] }
    if (!title) {
      this.#asked.push(content)
      this.#requests.set(content, wire)
      this.#systems.delete(content) // The newest one comes last.
      const system = wire.messages.find(({ role }) => role === 'system')
      this.#systems.set(content, system === undefined ? '' : textOf(system))
    }
    const courses = title ? this.#titles : this.#courses
    const at = courses.findIndex(({ question }) => content.includes(question))
    const gates = at < 0 ? [] : (courses.splice(at, 1)[0]?.gates ?? [])
    return { body: Buffer.from(JSON.stringify(wire)), gates }
  }
}

function textOf({ content }: WireMessage): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function setText(message: WireMessage, text: string): void {
  if (typeof message.content === 'string') message.content = text
  else for (const part of message.content) if (part.type === 'text') part.text = text
}

function gateAt(after: number): Gate {
  let reach = () => {}
  let release = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  return { after, reach, reached, release, released }
}

/** Passes a stream on, event by event, and waits at the gates. */
async function relay(from: IncomingMessage, to: ServerResponse, gates: readonly Gate[]): Promise<void> {
  let rest = ''
  let sent = 0
  from.setEncoding('utf8')
  for await (const chunk of from) {
    const events = (rest + String(chunk)).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      for (const gate of gates.filter(({ after }) => after === sent)) {
        gate.reach()
        await held(gate, to)
      }
      if (to.destroyed) return
      to.write(`${event}\n\n`)
      sent++
    }
  }
  to.end(rest)
}

/** An event that keeps the connection alive without continuing the answer. */
const thinking = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { reasoning_content: ' ' } }] })}\n\n`

/**
 * held waits for the gate. It sends events meanwhile, because a server gives up an answer after half a minute of
 * silence, and tests on a slow machine take longer.
 */
async function held(gate: Gate, to: ServerResponse): Promise<void> {
  const heard = setInterval(() => to.write(thinking), 10_000)
  await gate.released
  clearInterval(heard)
}
