import { type Atom, atom, type createStore } from 'jotai'
import { type Answer, emptyAnswer } from './answer'
import {
  Connection,
  type ConnectionDeps,
  type ConnectionPolicy,
  type ConnectionState,
  defaultPolicy,
  type Ending,
  type StreamRequest,
} from './connection'
import { FrameCommitter, type FrameSource } from './frames'
import type { Proofreading } from './proofread'
import type { Release, Slots, SlotsDeps } from './slots'

/** AnswerView is a live answer's state other than its text. It changes rarely; compare by identity. */
export interface AnswerView
  extends Omit<Answer, 'announced' | 'text' | 'bytes' | 'reasoning' | 'proofread' | 'done' | 'restart'> {
  readonly proofread: Proofreading | null
  readonly hasText: boolean
  /** There is text, but no more has arrived for a while. */
  readonly stalled: boolean
  readonly line: ConnectionState
  /** The time of the next attempt at an overloaded server, in milliseconds since the epoch. */
  readonly busyUntil: number | null
  /** Its result for this client; null while it is running. */
  readonly ending: Ending | null
}

/** One live answer: an atom for its text, one for its reasoning, one for the rest. */
export interface LiveAnswer {
  /** The `request_id` of a question asked in this tab, else the message id. Never changes. */
  readonly key: string
  readonly textAtom: Atom<string>
  readonly reasoningAtom: Atom<string>
  readonly viewAtom: Atom<AnswerView>
}

/** Callbacks for events that concern more than the answer's own screen. */
export interface StreamObserver {
  /** The server has accepted the question, and the ids are known. Called once per answer. */
  readonly onStart?: (live: LiveAnswer, view: AnswerView) => void
  readonly onTitle?: (live: LiveAnswer, view: AnswerView) => void
  /** The answer ended for any reason except closing. The text is final. */
  readonly onEnd?: (live: LiveAnswer, view: AnswerView, text: string) => void
}

export interface RegistryDeps {
  readonly store: ReturnType<typeof createStore>
  readonly connection: ConnectionDeps
  readonly frames: FrameSource
  readonly observer: StreamObserver
  readonly policy?: ConnectionPolicy
  /** The slots for streams that this tab shares with the others of its browser. */
  readonly slots: (needs: Pick<SlotsDeps, 'spare' | 'yield' | 'onFree'>) => Slots
  /** Calls back with whether the tab is hidden; returns the function that unsubscribes. */
  readonly visibility?: (listener: (hidden: boolean) => void) => () => void
}

/** A tab that was hidden for this time closes its connections; they resume by their cursors. */
const hiddenMs = 60_000
/** A running answer without new text for this time is shown as stalled. */
const stallMs = 4000
/** The maximum number of ended answers. They stay until their stored messages have certainly replaced them. */
const maxEnded = 32

interface Entry {
  readonly live: ReturnType<typeof newAnswer>
  readonly committer: FrameCommitter
  readonly send: Extract<StreamRequest, { kind: 'send' }> | null
  answer: Answer
  line: ConnectionState
  busyUntil: number | null
  ending: Ending | null
  connection: Connection | null
  /** Held during a streaming connection. */
  slot: Release | null
  /** The pending wait for a slot. */
  claim: AbortController | null
  /** Fires when no text has arrived for a while. */
  patience: ReturnType<typeof setTimeout> | undefined
  stalled: boolean
  watchers: number
  watchedAt: number
  announced: boolean
}

/**
 * AnswerStreams holds all live answers of this tab, on every screen. Leaving a thread stops nothing: the tab continues
 * to read its answer, and returning shows it at once. Each stream uses one of the browser's few slots. Visible answers
 * have priority: streams that are not visible, here or in a hidden tab, release their slots. They keep text and cursor,
 * and resume later. A question never waits for a slot: without one it is delivered by a short call.
 */
export class AnswerStreams {
  readonly #entries = new Map<string, Entry>()
  readonly #keys = new Map<string, string>()
  #clock = 0
  #hidden = false
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined
  readonly #slots: Slots
  readonly #unsubscribe: (() => void) | undefined

  constructor(private readonly deps: RegistryDeps) {
    this.#slots = deps.slots({
      spare: () => this.#spare() !== undefined,
      yield: () => this.#detach(this.#spare()),
      onFree: () => this.#connectWatched(),
    })
    this.#unsubscribe = deps.visibility?.((hidden) => this.#onVisibility(hidden))
  }

  /** Asks a question. Repeating the same `requestId` has no effect, here or on the server. */
  send(requestId: string, body: unknown): LiveAnswer {
    const known = this.#unended(requestId)
    if (known !== undefined) return known.live
    const request = { kind: 'send', url: '/v1/message/stream', body: JSON.stringify(body) } as const
    const entry = this.#add(requestId, request, emptyAnswer)
    this.#connect(entry)
    return entry.live
  }

  /** Joins a running answer. It connects when the answer is watched. */
  attach(messageId: string, threadId: string): LiveAnswer {
    const known =
      this.#unended(messageId) ?? this.#add(messageId, null, { ...emptyAnswer, messageId, threadId })
    return known.live
  }

  /** The live answer with this message id or key, running or ended. */
  find(id: string): LiveAnswer | undefined {
    return this.#find(id)?.live
  }

  /** The running live answers of a thread. */
  running(threadId: string): readonly LiveAnswer[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.ending === null && entry.answer.threadId === threadId)
      .map((entry) => entry.live)
  }

  /** Marks this answer as visible until the returned function is called. */
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
      if (!this.#watched(entry)) this.#withdraw(entry)
    }
  }

  /** Handles a live event about the end of an answer that has no stream at the moment. */
  conclude(messageId: string): void {
    const entry = this.#find(messageId)
    if (entry === undefined || entry.ending !== null || entry.line === 'open') return
    this.#onEnd(entry, { kind: 'gone' })
  }

  /** Drops everything, for signing out and for tests. */
  close(): void {
    this.#unsubscribe?.()
    clearTimeout(this.#hiddenTimer)
    for (const entry of [...this.#entries.values()]) this.#forget(entry)
    this.#slots.close()
  }

  #find(id: string): Entry | undefined {
    return this.#entries.get(this.#keys.get(id) ?? id)
  }

  /** Returns the running answer with this message id or key, and forgets an ended one. */
  #unended(id: string): Entry | undefined {
    const known = this.#find(id)
    if (known === undefined || known.ending === null) return known
    this.#forget(known)
    return undefined
  }

  #add(key: string, send: Entry['send'], answer: Answer): Entry {
    const entry: Entry = {
      live: newAnswer(key, answer),
      committer: new FrameCommitter(this.deps.frames, () => this.#commit(entry)),
      send,
      answer,
      line: 'closed',
      busyUntil: null,
      ending: null,
      connection: null,
      slot: null,
      claim: null,
      patience: undefined,
      stalled: false,
      watchers: 0,
      watchedAt: ++this.#clock,
      announced: send === null,
    }
    this.#entries.set(key, entry)
    return entry
  }

  #connect(entry: Entry): void {
    if (entry.connection !== null || entry.claim !== null || entry.ending !== null) return
    const claim = new AbortController()
    entry.claim = claim
    this.#expect(entry)
    void this.#slotFor(entry, claim.signal).then((slot) => {
      if (entry.claim !== claim) {
        slot?.()
        return
      }
      entry.claim = null
      if (slot !== null) {
        entry.slot = slot
        this.#open(entry, requestFor(entry))
      } else if (entry.answer.messageId === null && entry.send !== null) {
        this.#open(entry, { ...entry.send, kind: 'handOver', url: '/v1/message/async' })
      }
    })
  }

  /** Returns a slot for a stream, or null if none is available. Only visible answers wait for one. */
  async #slotFor(entry: Entry, signal: AbortSignal): Promise<Release | null> {
    const free = await this.#slots.tryTake()
    const asking = entry.answer.messageId === null
    if (free !== null || !(asking || this.#watched(entry))) return free
    const spare = this.#spare()
    if (spare !== undefined) {
      const { slot } = spare
      spare.slot = null
      this.#detach(spare)
      return slot
    }
    return asking ? null : this.#slots.take(signal)
  }

  /** Stops waiting for a slot, except for a question that has not been delivered. */
  #withdraw(entry: Entry): void {
    if (entry.answer.messageId === null) return
    entry.claim?.abort()
    entry.claim = null
  }

  #watched(entry: Entry): boolean {
    return entry.watchers > 0 && !this.#hidden
  }

  /** Returns the stream here that was visible least recently, which can best wait. */
  #spare(): Entry | undefined {
    return [...this.#entries.values()]
      .filter((entry) => entry.slot !== null && entry.answer.messageId !== null && !this.#watched(entry))
      .sort((a, b) => a.watchedAt - b.watchedAt)[0]
  }

  #connectWatched(): void {
    // A slot released by a hidden tab belongs to the next tab, even if that one has not taken it yet.
    if (this.#hidden) return
    for (const entry of this.#entries.values()) {
      if (entry.watchers > 0) this.#connect(entry)
    }
  }

  #open(entry: Entry, request: StreamRequest): void {
    const connection: Connection = new Connection(
      request,
      this.deps.connection,
      {
        onAnswer: (answer) => this.#onAnswer(entry, answer),
        onState: (line, busyUntil) => {
          if (entry.connection !== connection) return
          entry.line = line
          entry.busyUntil = busyUntil
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
  }

  #onAnswer(entry: Entry, answer: Answer): void {
    const titled = answer.title !== null && answer.title !== entry.answer.title
    entry.answer = answer
    if (!entry.announced && answer.messageId !== null) {
      entry.announced = true
      this.#keys.set(answer.messageId, entry.live.key)
      entry.committer.flush()
      this.deps.observer.onStart?.(entry.live, this.#view(entry))
    }
    entry.committer.schedule()
    if (titled) this.deps.observer.onTitle?.(entry.live, viewOf(answer, entry))
  }

  #onEnd(entry: Entry, ending: Ending): void {
    if (ending.kind === 'closed') return
    this.#disconnect(entry)
    clearTimeout(entry.patience)
    if (ending.kind === 'taken') {
      if (entry.watchers > 0) this.#connect(entry)
      return
    }
    entry.ending = ending
    entry.committer.flush()
    this.deps.observer.onEnd?.(entry.live, this.#view(entry), entry.answer.text)
    this.#evict()
  }

  #commit(entry: Entry): void {
    const { store } = this.deps
    const { textAtom, reasoningAtom, viewAtom } = entry.live
    const { text, reasoning, restart } = entry.answer
    if (text !== store.get(textAtom)) this.#expect(entry)
    const view = viewOf(entry.answer, entry)
    // A discarded text stays on the screen until its successor has begun.
    if (!restart) {
      store.set(textAtom, text)
      store.set(reasoningAtom, reasoning)
    }
    if (!sameView(view, store.get(viewAtom))) store.set(viewAtom, view)
  }

  /** Restarts the timer for more text. */
  #expect(entry: Entry): void {
    clearTimeout(entry.patience)
    entry.stalled = false
    if (entry.ending !== null) return
    entry.patience = setTimeout(() => {
      entry.stalled = true
      entry.committer.schedule()
    }, stallMs)
  }

  #view(entry: Entry): AnswerView {
    return this.deps.store.get(entry.live.viewAtom)
  }

  /** Closes a stream. Its text and cursor stay. */
  #detach(entry: Entry | undefined): void {
    if (entry === undefined) return
    this.#disconnect(entry)
    entry.committer.schedule()
  }

  #disconnect(entry: Entry): void {
    const { connection, slot } = entry
    entry.connection = null
    entry.slot = null
    entry.line = 'closed'
    entry.busyUntil = null
    entry.claim?.abort()
    entry.claim = null
    connection?.close()
    slot?.()
  }

  #forget(entry: Entry): void {
    entry.committer.stop()
    clearTimeout(entry.patience)
    this.#disconnect(entry)
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
    if (!hidden) {
      this.#connectWatched()
      return
    }
    // Other tabs have priority now: stop waiting for a slot.
    for (const entry of this.#entries.values()) this.#withdraw(entry)
    this.#hiddenTimer = setTimeout(() => this.#rest(), hiddenMs)
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

/** Progress is the state of a stream other than the answer itself. */
type Progress = Pick<Entry, 'line' | 'busyUntil' | 'ending' | 'stalled'>

const beginning: Progress = { line: 'closed', busyUntil: null, ending: null, stalled: false }

function viewOf(answer: Answer, { line, busyUntil, ending, stalled }: Progress = beginning): AnswerView {
  const { announced, text, bytes, reasoning, done, restart, ...shown } = answer
  const hasText = bytes > 0
  return { ...shown, hasText, stalled: stalled && hasText, line, busyUntil, ending }
}

/** awaitedAnswer returns a placeholder for an answer without a stream. */
export function awaitedAnswer(key: string): LiveAnswer {
  return newAnswer(key, emptyAnswer)
}

function newAnswer(key: string, answer: Answer) {
  return { key, textAtom: atom(''), reasoningAtom: atom(''), viewAtom: atom(viewOf(answer)) }
}

function sameView(a: AnswerView, b: AnswerView): boolean {
  const names = Object.keys(a) as (keyof AnswerView)[]
  return names.every((name) => a[name] === b[name])
}
