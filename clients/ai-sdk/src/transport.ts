import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { Answer } from './answer.js'
import type { ToolApproval, ToolDecision } from './approval.js'
import { type Access, Connection, call } from './connection.js'

export interface TsumugiChatTransportOptions {
  /** Base URL of the server, such as `https://tsumugi.example.com`; defaults to the origin of the page. */
  readonly server?: string
  /** Returns a bearer token. It is called with `true` for a new token when the previous one has expired. */
  readonly token: (expired: boolean) => string | Promise<string>
  /** Maps the id of a chat to the id of its thread; defaults to the same id. */
  readonly thread?: (chatId: string) => string | Promise<string>
  readonly fetch?: typeof fetch
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0]
type ReconnectOptions<M extends UIMessage> = Parameters<ChatTransport<M>['reconnectToStream']>[0]
type Options = Pick<SendOptions<UIMessage>, 'chatId' | 'headers'> & { abortSignal?: AbortSignal | undefined }

/** Asked is a request that was sent for a user message. */
interface Asked {
  readonly requestId: string
  readonly fields: string
  readonly answer: Answer
  /** The id of the question that this request replaces. */
  readonly edit: string | undefined
}

/** Followed is the answer that a chat is reading. */
interface Followed {
  readonly answer: Answer
  readonly signal: AbortSignal | undefined
  readonly over: AbortController
  stopped: boolean
}

/**
 * TsumugiChatTransport connects the AI SDK's `useChat` and `Chat` to a Tsumugi server. An answer survives broken
 * connections: it continues at the same position, and the model does not run again.
 */
export class TsumugiChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** A resumed answer is sent from its beginning. */
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
    const { requestId, fields, answer } = await this.#ask(options)
    const body = `{"request_id":"${requestId}",${fields.slice(1)}`
    return this.#stream(this.#follow(options, answer, () => '/v1/message/stream', body))
  }

  reconnectToStream = async (
    options: ReconnectOptions<M>,
  ): Promise<ReadableStream<UIMessageChunk> | null> => {
    const before = this.#followed.get(options.chatId)
    this.#followed.delete(options.chatId) // Synchronous; `leave` depends on it.
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
   * Stops the answer of a chat. Its stream then closes with the text that the server has stored. `chat.stop()` also
   * stops the answer, but closes the stream at once. The chat then lacks the text in transit until it reads the thread
   * again.
   */
  stop = async (chatId: string): Promise<void> => {
    const followed = this.#followed.get(chatId)
    if (followed !== undefined && !followed.answer.done) await this.#stop(followed)
  }

  /** Returns the calls of tools that wait for a decision of the signed-in person, oldest first, at most 100. */
  waitingToolCalls = async (): Promise<ToolApproval[]> => {
    const response = await call(this.#access, '/v1/tool-call?state=waiting&limit=100')
    return ((await response.json()) as { items: ToolApproval[] }).items
  }

  /**
   * Approves or refuses a call of a tool, by the id of its approval. The stream of the answer continues with the
   * outcome. If the call has another decision already, or waits no more, it throws a TsumugiError with the status 409.
   */
  decideToolCall = async (id: string, decision: ToolDecision): Promise<ToolApproval> => {
    const response = await call(this.#access, `/v1/tool-call/${encodeURIComponent(id)}/decision`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...decision, request_id: decision.request_id ?? crypto.randomUUID() }),
    })
    return (await response.json()) as ToolApproval
  }

  async #stop(followed: Followed): Promise<void> {
    followed.stopped = true
    const { messageId } = followed.answer
    // Without an id the answer has not begun; `#chunks` stops it when it begins.
    if (messageId !== undefined) await call(this.#access, `/v1/message/${messageId}/stop`, { method: 'POST' })
  }

  /** Builds the request: a new question, an edited question, or another answer to a question. */
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
      // A refused question is sent again at the same position in the thread.
      edit = refused ? before.edit : messageId && (before?.answer.questionId ?? messageId)
      if (edit !== undefined) what.edit = edit
    } else {
      const named = messageId === question.id ? undefined : messageId
      what.regenerate =
        named ?? before?.answer.messageId ?? (await this.#answerTo(question.id, thread, headers))
    }
    const fields = JSON.stringify(what)
    // The server may have accepted a request although its response was lost. The same request id prevents a duplicate.
    const requestId = refused && before.fields === fields ? before.requestId : crypto.randomUUID()
    const asked = { requestId, fields, answer: new Answer(), edit }
    this.#asked.set(question.id, asked)
    return asked
  }

  /**
   * Returns the id of the newest answer to a question that was read from the server. If the server does not know the
   * question's id, it returns the newest answer of the thread.
   */
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

  /** Returns the chunks of an answer until its end. An aborted consumer does not wait for further chunks. */
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
        // If the chat resumes in the same turn, the new stream replaces this one, and the answer must not stop.
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
        // One chunk at a time: chunks that are queued when a stream fails would be lost.
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
