import { type Atom, atom, type createStore, type PrimitiveAtom } from 'jotai'
import { type Answer, emptyAnswer, type Outcome, type Thinking } from './answer'
import {
  Connection,
  type ConnectionDeps,
  type ConnectionPolicy,
  type ConnectionState,
  defaultPolicy,
  type Ending,
  type StreamRequest,
} from './connection'
import type { AnswerSource, AnswerStep, ThreadTitle } from './events'
import { FrameCommitter, type FrameSource } from './frames'
import type { Release, Slots, SlotsDeps } from './slots'

/** What a screen shows of a live answer beside its text. Changes seldom; compare by identity. */
export interface AnswerView {
  readonly messageId: string | null
  readonly userMessageId: string | null
  readonly threadId: string | null
  readonly run: number
  readonly hasText: boolean
  /** Its text was begun anew by a later run, in place of one that was shown. */
  readonly rewriting: boolean
  /** There is text, and for a while no more has come. */
  readonly stalled: boolean
  readonly thinking: Thinking | null
  readonly steps: readonly AnswerStep[]
  readonly sources: readonly AnswerSource[]
  readonly title: ThreadTitle | null
  readonly outcome: Outcome | null
  readonly line: ConnectionState
  /** When a server that has too much to do is asked again, in milliseconds since the epoch. */
  readonly busyUntil: number | null
  /** How it ended for this client; null while it goes on. */
  readonly ending: Ending | null
}

/** One answer while it is written: an atom for its text, one for what the model thinks before, one for the rest. */
export interface LiveAnswer {
  /** The `request_id` of a question asked in this tab, else the message id. Never changes. */
  readonly key: string
  readonly textAtom: Atom<string>
  readonly reasoningAtom: Atom<string>
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
  /** The places for streams that this tab shares with the others of its browser. */
  readonly slots: (needs: Pick<SlotsDeps, 'spare' | 'yield' | 'onFree'>) => Slots
  /** Calls back with whether the tab is hidden; returns how to stop that. */
  readonly visibility?: (listener: (hidden: boolean) => void) => () => void
}

/** A tab nobody has looked at for so long lets go of its connections; cursors bring all back. */
const hiddenMs = 60_000
/** An answer that is being written and brings no text for so long is said to keep its reader waiting. */
const stallMs = 4000
/** Answers that are over stay until their stored messages have surely replaced them. */
const maxEnded = 32

interface Entry {
  readonly live: LiveAnswer
  readonly text: PrimitiveAtom<string>
  readonly reasoning: PrimitiveAtom<string>
  readonly view: PrimitiveAtom<AnswerView>
  readonly committer: FrameCommitter
  readonly send: Extract<StreamRequest, { kind: 'send' }> | null
  answer: Answer
  line: ConnectionState
  busyUntil: number | null
  ending: Ending | null
  connection: Connection | null
  /** Held while there is a connection that streams. */
  slot: Release | null
  /** Stands for the wait for a slot. */
  claim: AbortController | null
  /** Runs out when no text has come for a while. */
  patience: ReturnType<typeof setTimeout> | undefined
  stalled: boolean
  watchers: number
  watchedAt: number
  announced: boolean
}

/**
 * All live answers of this tab, whichever screen is shown. Leaving a thread stops nothing: its answer goes on being read
 * here, and coming back shows it at once. A stream has one of the few slots of the browser. Whoever looks at an answer
 * comes first: streams that nobody looks at, here or in a hidden tab, give theirs up; text and cursor stay, and resume.
 * A question never waits for a slot: without one it is handed over by a short call.
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
      if (!this.#watched(entry)) this.#withdraw(entry)
    }
  }

  /** The server has told by another way that an answer is over: one that has no stream at the moment learns it so. */
  conclude(messageId: string): void {
    const entry = this.#find(messageId)
    if (entry === undefined || entry.ending !== null || entry.line === 'open') return
    this.#onEnd(entry, { kind: 'gone' })
  }

  /** Lets go of everything: signing out, tests. */
  close(): void {
    this.#unsubscribe?.()
    clearTimeout(this.#hiddenTimer)
    for (const entry of [...this.#entries.values()]) this.#forget(entry)
    this.#slots.close()
  }

  #find(id: string): Entry | undefined {
    return this.#entries.get(this.#keys.get(id) ?? id)
  }

  #add(key: string, send: Entry['send'], answer: Answer): Entry {
    const text = atom('')
    const reasoning = atom('')
    const view = atom(viewOf(answer))
    const entry: Entry = {
      live: { key, textAtom: text, reasoningAtom: reasoning, viewAtom: view },
      text,
      reasoning,
      view,
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

  /** A slot for a stream, or null if it has to do without. Only what somebody looks at waits for one. */
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

  /** Leaves the line for a slot; a question that has not been handed over stays in it. */
  #withdraw(entry: Entry): void {
    if (entry.answer.messageId === null) return
    entry.claim?.abort()
    entry.claim = null
  }

  #watched(entry: Entry): boolean {
    return entry.watchers > 0 && !this.#hidden
  }

  /** The stream here that can best wait: the one least recently looked at. */
  #spare(): Entry | undefined {
    return [...this.#entries.values()]
      .filter((entry) => entry.slot !== null && entry.answer.messageId !== null && !this.#watched(entry))
      .sort((a, b) => a.watchedAt - b.watchedAt)[0]
  }

  #connectWatched(): void {
    // What a hidden tab has given up is somebody else's, though that one may not be there yet.
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
    const { text, reasoning, restart } = entry.answer
    if (text !== store.get(entry.text)) this.#expect(entry)
    const view = viewOf(entry.answer, entry)
    // A text that has to start over stays on the screen until its successor is there.
    if (!restart) {
      store.set(entry.text, text)
      store.set(entry.reasoning, reasoning)
    }
    if (!sameView(view, store.get(entry.view))) store.set(entry.view, view)
  }

  /** Waits for more text, from now on. */
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
    return this.deps.store.get(entry.view)
  }

  /** Lets go of a stream; its text and cursor stay. */
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
    // Others come first now: what waits for a slot leaves the line.
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

/** What is known of a stream beside the answer itself. */
type Progress = Pick<Entry, 'line' | 'busyUntil' | 'ending' | 'stalled'>

const beginning: Progress = { line: 'closed', busyUntil: null, ending: null, stalled: false }

function viewOf(answer: Answer, { line, busyUntil, ending, stalled }: Progress = beginning): AnswerView {
  const { messageId, userMessageId, threadId, run, thinking, steps, sources, title, outcome, rewriting } =
    answer
  const hasText = answer.bytes > 0
  return {
    messageId,
    userMessageId,
    threadId,
    run,
    hasText,
    rewriting,
    stalled: stalled && hasText,
    thinking,
    steps,
    sources,
    title,
    outcome,
    line,
    busyUntil,
    ending,
  }
}

/** Stands for an answer that has no stream yet. */
export function awaitedAnswer(key: string): LiveAnswer {
  return { key, textAtom: atom(''), reasoningAtom: atom(''), viewAtom: atom(viewOf(emptyAnswer)) }
}

function sameView(a: AnswerView, b: AnswerView): boolean {
  const names = Object.keys(a) as (keyof AnswerView)[]
  return names.every((name) => a[name] === b[name])
}
