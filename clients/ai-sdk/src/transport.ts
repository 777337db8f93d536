import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { Answer } from './answer.js'
import { type Access, Connection, call } from './connection.js'

export interface TsumugiChatTransportOptions {
  /** Where the server is, such as `https://tsumugi.example.com`; this page's own origin if left out. */
  readonly server?: string
  /** Returns a bearer token. It is asked for a new one, with `true`, when the one before has run out. */
  readonly token: (expired: boolean) => string | Promise<string>
  /** The thread of a chat. Without it, a chat's id is that of its thread. */
  readonly thread?: (chatId: string) => string | Promise<string>
  readonly fetch?: typeof fetch
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0]
type ReconnectOptions<M extends UIMessage> = Parameters<ChatTransport<M>['reconnectToStream']>[0]
type Options = Pick<SendOptions<UIMessage>, 'chatId' | 'headers'> & { abortSignal?: AbortSignal | undefined }

/** What was asked with a message of the user. */
interface Asked {
  readonly requestId: string
  readonly wish: string
  readonly answer: Answer
  /** The question in place of which it is asked. */
  readonly edit: string | undefined
}

/** The answer that a chat follows. */
interface Followed {
  readonly answer: Answer
  readonly signal: AbortSignal | undefined
  readonly over: AbortController
  stopped: boolean
}

/**
 * Speaks to a Tsumugi server for the AI SDK's `useChat` and `Chat`. An answer survives every broken connection: it goes
 * on where it was, and the model is not asked again.
 */
export class TsumugiChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** A resumed answer is told from its beginning. */
  readonly resumeStreamIsReplay = true
  readonly #access: Access
  readonly #thread: (chatId: string) => string | Promise<string>
  readonly #asked = new Map<string, Asked>() // By id of the user's message.
  readonly #followed = new Map<string, Followed>() // By id of the chat.

  constructor({ server = '', token, thread = (chatId) => chatId, fetch }: TsumugiChatTransportOptions) {
    const called = fetch ?? ((input, init) => globalThis.fetch(input, init))
    this.#access = { server: server.replace(/\/$/, ''), token, fetch: called }
    this.#thread = thread
  }

  sendMessages = async (options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> => {
    const { requestId, wish, answer } = await this.#ask(options)
    const body = `{"request_id":"${requestId}",${wish.slice(1)}`
    return this.#stream(this.#follow(options, answer, () => '/v1/message/stream', body))
  }

  reconnectToStream = async (
    options: ReconnectOptions<M>,
  ): Promise<ReadableStream<UIMessageChunk> | null> => {
    const before = this.#followed.get(options.chatId)
    this.#followed.delete(options.chatId) // In the same turn: see leave.
    const thread = await this.#thread(options.chatId)
    // An answer that was not read to its end is read again, even if it is complete by now.
    const known = before?.answer.done || before?.stopped ? undefined : before?.answer.messageId
    const answer = new Answer()
    const chunks = this.#follow(options, answer, () => {
      const message = answer.messageId ?? known
      return message === undefined ? `/v1/thread/${thread}/stream` : `/v1/message/${message}/stream`
    })
    const first = await chunks.next()
    return first.done ? null : this.#stream(chunks, first.value)
  }

  /**
   * Stops the answer of a chat. Its stream then ends by itself, with what is stored. `chat.stop()` stops it as well,
   * but leaves at once: what was on its way at that moment is missing until the thread is read again.
   */
  stop = async (chatId: string): Promise<void> => {
    const followed = this.#followed.get(chatId)
    if (followed !== undefined && !followed.answer.done) await this.#stop(followed)
  }

  async #stop(followed: Followed): Promise<void> {
    followed.stopped = true
    const { messageId } = followed.answer
    // Without an id it has not begun, and is stopped as soon as it does.
    if (messageId !== undefined) await call(this.#access, `/v1/message/${messageId}/stop`, { method: 'POST' })
  }

  /** What to ask: the question, the question changed, or for another answer to it. */
  async #ask({ chatId, messages, trigger, messageId, body = {}, headers }: SendOptions<M>): Promise<Asked> {
    const question = messages.findLast((message) => message.role === 'user')
    if (question === undefined) throw new TypeError('there is no question')
    const before = this.#asked.get(question.id)
    const refused = before !== undefined && before.answer.messageId === undefined
    const thread = await this.#thread(chatId)
    const what: Record<string, unknown> = { ...body, thread_id: thread }
    let edit: string | undefined
    if (trigger === 'submit-message' || refused) {
      if (!('form' in body))
        what.content = question.parts.map((p) => (p.type === 'text' ? p.text : '')).join('')
      // What was refused is asked again in the same place.
      edit = refused ? before.edit : messageId && (before?.answer.questionId ?? messageId)
      if (edit !== undefined) what.edit = edit
    } else {
      const named = messageId === question.id ? undefined : messageId
      what.regenerate =
        named ?? before?.answer.messageId ?? (await this.#answerTo(question.id, thread, headers))
    }
    const wish = JSON.stringify(what)
    // What the server may have without our knowing is asked for under the same id, so that it is not asked twice.
    const requestId = refused && before.wish === wish ? before.requestId : crypto.randomUUID()
    const asked = { requestId, wish, answer: new Answer(), edit }
    this.#asked.set(question.id, asked)
    return asked
  }

  /** The newest answer to a question that was read from the server; to one of another id, the newest of the thread. */
  async #answerTo(question: string, thread: string, headers?: HeadersInit): Promise<string | undefined> {
    const stored = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(question)
    const limit = stored ? 100 : 1
    for (let offset = 0; ; offset += limit) {
      const branch = stored ? `&offset=${offset}&leaf=${question}` : ''
      const path = `/v1/message?limit=${limit}&thread_id=${thread}${branch}`
      const response = await call(this.#access, path, headers && { headers })
      const { items } = (await response.json()) as { items: { id: string; parent_id?: string }[] }
      const answer = stored ? items.find(({ parent_id }) => parent_id === question) : items[0]
      if (answer !== undefined || items.length < limit) return answer?.id
    }
  }

  /** The chunks of an answer, until its end. A consumer that has left waits for none. */
  #follow(
    { chatId, headers, abortSignal }: Options,
    answer: Answer,
    path: () => string,
    body?: string,
  ): Reading {
    const followed: Followed = { answer, signal: abortSignal, over: new AbortController(), stopped: false }
    this.#followed.set(chatId, followed)
    const connection = new Connection(this.#access, followed.over.signal, () => {
      const accepted = answer.messageId !== undefined
      return { path: path(), body, headers, cursor: answer.cursor, accepted }
    })
    const chunks = this.#chunks(followed, connection)
    const left = new Promise<IteratorReturnResult<void>>((resolve) => {
      const leave = () => {
        resolve({ done: true, value: undefined })
        // A later resume of the chat, which comes in the same turn, takes over from this one: that is no wish to stop.
        queueMicrotask(() => {
          const stops = this.#followed.get(chatId) === followed ? this.#stop(followed) : Promise.resolve()
          stops.catch(() => {}).finally(() => answer.messageId !== undefined && followed.over.abort())
        })
      }
      if (abortSignal?.aborted) leave()
      abortSignal?.addEventListener('abort', leave, { once: true })
    })
    return { next: () => Promise.race([chunks.next(), left]), cancel: () => followed.over.abort() }
  }

  async *#chunks(followed: Followed, connection: Connection): AsyncGenerator<UIMessageChunk, void> {
    const { answer, over, signal } = followed
    for await (const event of connection.events()) {
      const begins = answer.messageId === undefined
      const chunks = await answer.take(event)
      if (chunks === null) connection.drop()
      else if (chunks.length > 0) connection.progress()
      if (begins && followed.stopped) await this.#stop(followed)
      if (begins && signal?.aborted) return
      yield* chunks ?? []
      if (answer.done) return
    }
    if (!over.signal.aborted) yield* answer.complete()
  }

  #stream(chunks: Reading, first?: UIMessageChunk): ReadableStream<UIMessageChunk> {
    return new ReadableStream(
      {
        start: (controller) => first && controller.enqueue(first),
        // One at a time: what is queued when a stream fails would be lost.
        async pull(controller) {
          const { done, value } = await chunks.next()
          if (done) controller.close()
          else controller.enqueue(value)
        },
        cancel: chunks.cancel,
      },
      { highWaterMark: 0 },
    )
  }
}

interface Reading {
  readonly next: () => Promise<IteratorResult<UIMessageChunk, void>>
  readonly cancel: () => void
}
