import { type Atom, atom, type createStore, type PrimitiveAtom } from 'jotai'
import { type Answer, emptyAnswer, type Outcome } from './answer'
import {
  Connection,
  type ConnectionDeps,
  type ConnectionPolicy,
  type ConnectionState,
  defaultPolicy,
  type Ending,
  type StreamRequest,
} from './connection'
import type { AnswerSource, AnswerStep } from './events'
import { FrameCommitter, type FrameSource } from './frames'

/** What a screen shows of a live answer beside its text. Changes seldom; compare by identity. */
export interface AnswerView {
  readonly messageId: string | null
  readonly userMessageId: string | null
  readonly threadId: string | null
  readonly run: number
  readonly hasText: boolean
  readonly steps: readonly AnswerStep[]
  readonly sources: readonly AnswerSource[]
  readonly title: string | null
  readonly outcome: Outcome | null
  readonly line: ConnectionState
  /** How it ended for this client; null while it goes on. */
  readonly ending: Ending | null
}

/** One answer while it is written: one atom for its text, one for the rest. */
export interface LiveAnswer {
  /** The `request_id` of a question asked in this tab, else the message id. Never changes. */
  readonly key: string
  readonly textAtom: Atom<string>
  readonly viewAtom: Atom<AnswerView>
}

/** Told about the events that concern more than the answer's own screen. */
export interface StreamObserver {
  /** The server has the question; ids are known. Once per answer. */
  readonly onStart?: (live: LiveAnswer, view: AnswerView) => void
  readonly onTitle?: (live: LiveAnswer, view: AnswerView) => void
  /** Over, for whatever reason but leaving. The text is the final one. */
  readonly onEnd?: (live: LiveAnswer, view: AnswerView, text: string) => void
}

export interface RegistryDeps {
  readonly store: ReturnType<typeof createStore>
  readonly connection: ConnectionDeps
  readonly frames: FrameSource
  readonly observer: StreamObserver
  readonly policy?: ConnectionPolicy
  /** Calls back with whether the tab is hidden; returns how to stop that. */
  readonly visibility?: (listener: (hidden: boolean) => void) => () => void
}

/** Browsers allow six connections to a host, over all tabs: leave room for everything else. */
const maxConnected = 4
/** A tab nobody has looked at for so long lets go of its connections; cursors bring all back. */
const hiddenMs = 60_000
/** Answers that are over stay until their stored messages have surely replaced them. */
const maxEnded = 32

interface Entry {
  readonly live: LiveAnswer
  readonly text: PrimitiveAtom<string>
  readonly view: PrimitiveAtom<AnswerView>
  readonly committer: FrameCommitter
  readonly send: StreamRequest | null
  answer: Answer
  line: ConnectionState
  ending: Ending | null
  connection: Connection | null
  watchers: number
  watchedAt: number
  announced: boolean
}

/**
 * All live answers of this tab, whichever screen is shown. Leaving a thread stops nothing: its
 * answer goes on being read here, and coming back shows it at once. Beyond a few connections the
 * ones nobody watches are let go; their text and cursor stay, and watching resumes them.
 */
export class AnswerStreams {
  readonly #entries = new Map<string, Entry>()
  readonly #keys = new Map<string, string>()
  #clock = 0
  #hidden = false
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined
  readonly #unsubscribe: (() => void) | undefined

  constructor(private readonly deps: RegistryDeps) {
    this.#unsubscribe = deps.visibility?.((hidden) => this.#onVisibility(hidden))
  }

  /** Asks a question. The same `requestId` asks nothing twice, here or on the server. */
  send(requestId: string, body: unknown): LiveAnswer {
    const known = this.#entries.get(requestId)
    if (known !== undefined && known.ending === null) return known.live
    if (known !== undefined) this.#forget(known)
    const request = { kind: 'send', url: '/v1/message/stream', body: JSON.stringify(body) } as const
    const entry = this.#add(requestId, request, emptyAnswer)
    this.#connect(entry)
    return entry.live
  }

  /** Joins an answer that is being written. Connects when it is watched. */
  attach(messageId: string, threadId: string): LiveAnswer {
    const known = this.#find(messageId)
    if (known !== undefined && known.ending === null) return known.live
    if (known !== undefined) this.#forget(known)
    return this.#add(messageId, null, { ...emptyAnswer, messageId, threadId }).live
  }

  /** The live answer with this message id or key, over or not. */
  find(id: string): LiveAnswer | undefined {
    return this.#find(id)?.live
  }

  /** Live answers that are not over yet and belong to a thread. */
  running(threadId: string): readonly LiveAnswer[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.ending === null && entry.answer.threadId === threadId)
      .map((entry) => entry.live)
  }

  /** Says that a screen shows this answer, until the returned function is called. */
  watch(live: LiveAnswer): () => void {
    const entry = this.#entries.get(live.key)
    if (entry === undefined) return () => {}
    entry.watchers++
    entry.watchedAt = ++this.#clock
    this.#connect(entry)
    let watching = true
    return () => {
      if (!watching) return
      watching = false
      entry.watchers--
      entry.watchedAt = ++this.#clock
      this.#limit()
    }
  }

  /** Lets go of everything: signing out, tests. */
  close(): void {
    this.#unsubscribe?.()
    clearTimeout(this.#hiddenTimer)
    for (const entry of [...this.#entries.values()]) this.#forget(entry)
  }

  #find(id: string): Entry | undefined {
    return this.#entries.get(this.#keys.get(id) ?? id)
  }

  #add(key: string, send: StreamRequest | null, answer: Answer): Entry {
    const text = atom('')
    const view = atom(viewOf(answer, 'closed', null))
    const entry: Entry = {
      live: { key, textAtom: text, viewAtom: view },
      text,
      view,
      committer: new FrameCommitter(this.deps.frames, () => this.#commit(entry)),
      send,
      answer,
      line: 'closed',
      ending: null,
      connection: null,
      watchers: 0,
      watchedAt: ++this.#clock,
      announced: send === null,
    }
    this.#entries.set(key, entry)
    return entry
  }

  #connect(entry: Entry): void {
    if (entry.connection !== null || entry.ending !== null) return
    const request = requestFor(entry)
    const connection: Connection = new Connection(
      request,
      this.deps.connection,
      {
        onAnswer: (answer) => this.#onAnswer(entry, answer),
        onState: (line) => {
          if (entry.connection !== connection) return
          entry.line = line
          entry.committer.schedule()
        },
        onEnd: (ending) => {
          if (entry.connection === connection) this.#onEnd(entry, ending)
        },
      },
      entry.answer,
      this.deps.policy ?? defaultPolicy,
    )
    entry.connection = connection
    void connection.run()
    this.#limit()
  }

  #onAnswer(entry: Entry, answer: Answer): void {
    const titled = answer.title !== null && answer.title !== entry.answer.title
    entry.answer = answer
    if (!entry.announced && answer.messageId !== null) {
      entry.announced = true
      this.#keys.set(answer.messageId, entry.live.key)
      entry.committer.flush()
      this.deps.observer.onStart?.(entry.live, this.#view(entry))
      this.#limit()
    }
    entry.committer.schedule()
    if (titled) this.deps.observer.onTitle?.(entry.live, viewOf(answer, entry.line, null))
  }

  #onEnd(entry: Entry, ending: Ending): void {
    entry.connection = null
    if (ending.kind === 'closed') return
    entry.ending = ending
    entry.line = 'closed'
    entry.committer.flush()
    this.deps.observer.onEnd?.(entry.live, this.#view(entry), entry.answer.text)
    this.#evict()
  }

  #commit(entry: Entry): void {
    const { store } = this.deps
    const view = viewOf(entry.answer, entry.line, entry.ending)
    // A text that has to start over stays on the screen until its successor is there.
    if (!entry.answer.restart) store.set(entry.text, entry.answer.text)
    if (!sameView(view, store.get(entry.view))) store.set(entry.view, view)
  }

  #view(entry: Entry): AnswerView {
    return this.deps.store.get(entry.view)
  }

  /** Lets go of the connections least recently watched, until few enough are left. */
  #limit(): void {
    const connected = [...this.#entries.values()].filter((entry) => entry.connection !== null)
    const spare = connected
      .filter((entry) => entry.watchers === 0 && entry.answer.messageId !== null)
      .sort((a, b) => a.watchedAt - b.watchedAt)
    for (const entry of spare.slice(0, Math.max(0, connected.length - maxConnected))) {
      this.#detach(entry)
    }
  }

  #detach(entry: Entry): void {
    const connection = entry.connection
    entry.connection = null
    entry.line = 'closed'
    connection?.close()
    entry.committer.schedule()
  }

  #forget(entry: Entry): void {
    entry.committer.stop()
    const connection = entry.connection
    entry.connection = null
    connection?.close()
    this.#entries.delete(entry.live.key)
    if (entry.answer.messageId !== null) this.#keys.delete(entry.answer.messageId)
  }

  #evict(): void {
    const ended = [...this.#entries.values()]
      .filter((entry) => entry.ending !== null && entry.watchers === 0)
      .sort((a, b) => a.watchedAt - b.watchedAt)
    for (const entry of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#forget(entry)
  }

  #onVisibility(hidden: boolean): void {
    if (hidden === this.#hidden) return
    this.#hidden = hidden
    clearTimeout(this.#hiddenTimer)
    if (hidden) {
      this.#hiddenTimer = setTimeout(() => this.#rest(), hiddenMs)
      return
    }
    for (const entry of this.#entries.values()) {
      if (entry.watchers > 0) this.#connect(entry)
    }
  }

  #rest(): void {
    for (const entry of this.#entries.values()) {
      if (entry.connection !== null && entry.answer.messageId !== null) this.#detach(entry)
    }
  }
}

function requestFor(entry: Entry): StreamRequest {
  const { messageId } = entry.answer
  if (messageId === null && entry.send !== null) return entry.send
  return { kind: 'attach', url: `/v1/message/${encodeURIComponent(messageId ?? '')}/stream` }
}

function viewOf(answer: Answer, line: ConnectionState, ending: Ending | null): AnswerView {
  const { messageId, userMessageId, threadId, run, steps, sources, title, outcome } = answer
  return {
    messageId,
    userMessageId,
    threadId,
    run,
    hasText: answer.bytes > 0,
    steps,
    sources,
    title,
    outcome,
    line,
    ending,
  }
}

function sameView(a: AnswerView, b: AnswerView): boolean {
  const names = Object.keys(a) as (keyof AnswerView)[]
  return names.every((name) => a[name] === b[name])
}
