import { asSchema, type UIMessageChunk, uiMessageChunkSchema } from 'ai'
import { TsumugiError } from './error.js'
import type { ServerEvent } from './events.js'

/** Wire is a chunk as sent by the server, with the fields that Answer uses. */
interface Wire {
  readonly type: string
  readonly id?: string
  readonly delta?: string
  readonly messageId?: string
  readonly sourceId?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly step?: number
  readonly input?: unknown
  readonly approvalId?: string
  readonly errorText?: string
  readonly code?: string
  readonly retryable?: boolean
  readonly data?: {
    readonly run?: number
    readonly id?: string
    readonly tool_call_id?: string
    readonly state?: string
  }
  readonly messageMetadata?: { readonly run?: number; readonly user_message_id?: string }
}

const utf8 = new TextEncoder()
const mostResyncs = 3

/**
 * Answer turns the events of one answer, received over any number of connections, into the chunks of one message: each
 * chunk once, and the text without gaps and from a single run. It computes the cursor from the text it has returned.
 * The id of an event only verifies that position.
 */
export class Answer {
  messageId: string | undefined
  questionId: string | undefined
  /** True after `[DONE]` followed a finish, abort or error event. */
  done = false
  #run = 0
  /** The run that the connection's start or reset has announced. */
  #announced = 0
  #bytes = 0
  /** The text part. Each connection begins it again, so it is returned with its first piece. */
  #text: 'none' | 'begun' | 'open' | 'closed' = 'none'
  #ended = false
  #resyncs = 0
  #distrusted = false
  /** The sources, steps, calls of tools and results returned so far. Each connection sends them again. */
  #parts = new Set<string>()
  /** The latest input of each call of a tool, by its id. */
  #inputs = new Map<string, UIMessageChunk>()
  /** The names of the tools of the calls whose input is incomplete, by the call's id. Each connection sends them again. */
  #unfinished = new Map<string, string>()
  /**
   * Each connection sends all reasoning again. For each part: the length returned so far, the position on this
   * connection, and whether the part is closed.
   */
  #reasoning = new Map<string, { length: number; at: number; closed: boolean }>()

  /**
   * The `Last-Event-ID` of the next connection. `0-0` is invalid for every run and makes the server start over with
   * `data-reset`.
   */
  get cursor(): string | undefined {
    if (this.#distrusted) return '0-0'
    return this.#bytes === 0 ? undefined : `${this.#run}-${this.#bytes}`
  }

  /**
   * Processes one event. It returns null if the event does not continue the previous ones; the caller must then drop
   * the connection.
   */
  async take({ data, id }: ServerEvent): Promise<UIMessageChunk[] | null> {
    if (data === '[DONE]') {
      this.done = this.#ended && !this.#distrusted
      return this.done ? [] : this.#resync()
    }
    const chunk = parse(data)
    if (chunk === null) return this.#resync()
    const wire = chunk as Wire
    switch (wire.type) {
      case 'start':
        return this.#start(wire, chunk)
      case 'data-reset':
        return this.#reset(wire.data?.run ?? 0)
    }
    if (this.#distrusted) return this.#resync()
    switch (wire.type) {
      case 'text-start':
        if (this.#text !== 'open') this.#text = 'begun'
        return []
      case 'text-delta':
        return this.#grow(wire.delta ?? '', id, chunk)
      case 'text-end':
        return this.#closing()
      case 'source-document':
      case 'source-url':
        return this.#isNew(`source ${wire.sourceId}`) ? [chunk] : []
      case 'tool-input-start':
        this.#unfinished.set(wire.toolCallId ?? '', wire.toolName ?? '')
        return [chunk]
      case 'tool-input-delta':
        return this.#unfinished.has(wire.toolCallId ?? '') ? [chunk] : []
      case 'tool-input-error':
        return this.#unfinished.delete(wire.toolCallId ?? '') ? [chunk] : []
      case 'tool-input-available': // A person may have changed the input before approving the call.
        this.#unfinished.delete(wire.toolCallId ?? '')
        this.#inputs.set(wire.toolCallId ?? '', chunk)
        return this.#isNew(`${wire.type} ${wire.toolCallId} ${JSON.stringify(wire.input)}`) ? [chunk] : []
      case 'tool-approval-request':
        return this.#isNew(`${wire.type} ${wire.approvalId}`) ? [chunk] : []
      case 'data-tool-approval':
        return [...this.#approved(wire), chunk]
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#isNew(`${wire.type} ${wire.toolCallId}`) ? [chunk] : []
      case 'start-step':
        return this.#isNew(`start-step ${wire.step}`) ? [chunk] : []
      case 'finish-step':
        return this.#isNew(`finish-step ${wire.step}`)
          ? [...this.#withdrawing(), ...this.#closing(), chunk]
          : []
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#reason(wire, chunk)
      case 'finish':
      case 'abort':
      case 'error':
        return this.#end(wire, id, chunk)
    }
    return [chunk]
  }

  /** Returns the chunks that are missing after the server reports that it has sent everything (204). */
  complete(): UIMessageChunk[] {
    const chunks = [...this.#withdrawing(), ...this.#closing()]
    if (this.messageId !== undefined && !this.#ended) chunks.push({ type: 'finish' })
    this.done = true
    return chunks
  }

  /** Withdraws the unfinished calls of an abandoned run, which the next run has not begun again. */
  #withdrawing(): UIMessageChunk[] {
    const chunks = [...this.#unfinished].map(
      ([toolCallId, toolName]): UIMessageChunk => ({
        type: 'tool-input-error',
        toolCallId,
        toolName,
        input: '',
        errorText: 'ツールは呼び出されませんでした。',
        providerExecuted: true,
        dynamic: true,
      }),
    )
    this.#unfinished.clear()
    return chunks
  }

  #resync(): null {
    const message = '回答を正しく受信できませんでした。画面を再読み込みしてください。'
    if (++this.#resyncs > mostResyncs) throw new TsumugiError(message, 'stream_inconsistent')
    this.#distrusted = true
    return null
  }

  async #start({ messageId, messageMetadata = {} }: Wire, chunk: UIMessageChunk): Promise<UIMessageChunk[]> {
    const { run = 0, user_message_id } = messageMetadata
    this.#announced = run
    for (const part of this.#reasoning.values()) part.at = 0
    if (this.messageId === undefined) {
      this.messageId = messageId
      this.questionId = user_message_id
      this.#run = run
      return [chunk]
    }
    // Without a cursor, only the start event announces a new run.
    return this.#bytes === 0 && run !== this.#run && !this.#distrusted ? this.#reset(run) : []
  }

  async #reset(run: number): Promise<UIMessageChunk[]> {
    const metadata = { type: 'message-metadata', messageMetadata: { run } } as UIMessageChunk
    // `reset-step` clears one step only.
    const manySteps = [...this.#parts].some((part) => part.startsWith('finish-step'))
    if ((manySteps || !(await knowsResetStep())) && (this.#bytes > 0 || this.#reasoning.size > 0))
      throw new TsumugiError('接続が途切れたため、回答を最初から再作成しています。', 'answer_restarted', true)
    const anew =
      this.#text !== 'none' || this.#parts.size > 0 || this.#unfinished.size > 0 || this.#reasoning.size > 0
    this.#distrusted = this.#ended = false
    this.#run = this.#announced = run
    this.#bytes = 0
    if (!anew || !(await knowsResetStep())) return [metadata]
    this.#text = 'none'
    this.#parts.clear()
    this.#inputs.clear()
    this.#unfinished.clear()
    this.#reasoning.clear()
    return [{ type: 'reset-step' } as unknown as UIMessageChunk, metadata]
  }

  /** Closes the open text part. A step ends with its text part, also if the end of that was on a lost connection. */
  #closing(): UIMessageChunk[] {
    const open = this.#text === 'open'
    if (open || this.#text === 'begun') this.#text = 'closed'
    return open ? [{ type: 'text-end', id: '0' }] : []
  }

  #grow(delta: string, id: string | undefined, chunk: UIMessageChunk): UIMessageChunk[] | null {
    const [run, offset] = parseCursor(id)
    if (!this.#continues(run) || offset === undefined) return this.#resync()
    if (run === this.#run && offset <= this.#bytes) return [] // A repetition: the text of a run never changes.
    if (offset - utf8.encode(delta).length !== this.#bytes) return this.#resync()
    if (this.#text !== 'open' && this.#text !== 'begun') return this.#resync()
    const opening: UIMessageChunk[] = this.#text === 'open' ? [] : [{ type: 'text-start', id: '0' }]
    this.#text = 'open'
    this.#run = run
    this.#bytes = offset
    return [...opening, chunk]
  }

  /** Reports whether a run continues the text: it is the same, or a later one that was announced without a reset. */
  #continues(run: number | undefined): run is number {
    return run !== undefined && (run === this.#run || (run > this.#run && run === this.#announced))
  }

  /** Repeats the input of a call when it is approved: the AI SDK's part then waits for the result, not for a decision. */
  #approved({ data }: Wire): UIMessageChunk[] {
    const input = this.#inputs.get(data?.tool_call_id ?? '')
    return data?.state === 'approved' && input && this.#isNew(`approved ${data.id}`) ? [input] : []
  }

  #isNew(part: string): boolean {
    return !this.#parts.has(part) && !!this.#parts.add(part)
  }

  #reason(wire: Wire, chunk: UIMessageChunk): UIMessageChunk[] {
    const id = wire.id ?? ''
    const part = this.#reasoning.get(id)
    if (part === undefined) {
      this.#reasoning.set(id, { length: 0, at: 0, closed: false })
      return [chunk]
    }
    if (part.closed || wire.type === 'reasoning-start') return []
    if (wire.type === 'reasoning-end') {
      part.closed = true
      return [chunk]
    }
    const delta = (wire.delta ?? '').slice(Math.max(part.length - part.at, 0))
    part.at += wire.delta?.length ?? 0
    part.length = Math.max(part.length, part.at)
    return delta === '' ? [] : [{ ...chunk, delta } as UIMessageChunk]
  }

  #end(wire: Wire, id: string | undefined, chunk: UIMessageChunk): UIMessageChunk[] | null {
    // The last id is the length of the text. An end event with another length is invalid.
    const [run, offset] = parseCursor(id)
    if (offset !== undefined && (!this.#continues(run) || offset !== this.#bytes)) return this.#resync()
    if (wire.type === 'error') {
      this.done = true
      throw new TsumugiError(wire.errorText ?? '', wire.code ?? 'error', wire.retryable)
    }
    const first = !this.#ended
    this.#ended = true
    return first ? [...this.#withdrawing(), chunk] : []
  }
}

/**
 * knowsResetStep reports whether this version of `ai` supports the `reset-step` chunk, which clears a message. Version
 * 7 does, version 6 does not.
 */
async function knowsResetStep(): Promise<boolean> {
  return (await asSchema(uiMessageChunkSchema).validate?.({ type: 'reset-step' }))?.success === true
}

/** parseCursor parses `<run>-<offset>`. */
function parseCursor(id = ''): [run?: number, offset?: number] {
  const match = /^([1-9]\d{0,8})-(\d{1,15})$/.exec(id)
  return match === null ? [] : [Number(match[1]), Number(match[2])]
}

function parse(data: string): UIMessageChunk | null {
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null && 'type' in value ? (value as UIMessageChunk) : null
  } catch {
    return null
  }
}
