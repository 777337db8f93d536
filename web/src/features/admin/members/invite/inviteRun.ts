import { ApiError, type Invitation, type NewMember } from '@/lib/api'

/** The maximum number of people per call. */
const BATCH = 100

/** Outcome is the result for one person of a list: the server's result, the refusal of the line, or none yet. */
export interface Outcome {
  readonly person: NewMember
  readonly result: Invitation['result'] | 'refused' | null
  /** Why the line was refused. */
  readonly message?: string
}

interface Batch {
  /** Sent with every attempt for the same people, so that each is invited only once. */
  readonly key: string
  readonly at: readonly number[]
}

type Invite = (users: NewMember[], key: string) => Promise<Invitation[]>

/**
 * InviteRun invites a list of people, a hundred per call. It stops at the first failed call, and the next run continues
 * there. It sends the same key for the same people, because the failed call may have succeeded on the server.
 */
export class InviteRun {
  readonly #invite: Invite
  readonly #newKey: () => string
  #batches: Batch[]
  #outcomes: Outcome[]

  constructor(people: readonly NewMember[], invite: Invite, newKey = () => crypto.randomUUID() as string) {
    this.#invite = invite
    this.#newKey = newKey
    this.#outcomes = people.map((person) => ({ person, result: null }))
    this.#batches = this.#split(people.map((_, at) => at))
  }

  /** The result for each person, in order. */
  get outcomes(): readonly Outcome[] {
    return this.#outcomes
  }

  /** Sends the remaining lines. Throws the error of the first failing call. */
  async run(onProgress: (outcomes: readonly Outcome[]) => void): Promise<void> {
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      const { at, key } = batch
      try {
        const results = await this.#invite(
          at.flatMap((index) => this.#outcomes[index]?.person ?? []),
          key,
        )
        this.#batches = this.#batches.slice(1)
        this.#settle(at, (index) => ({ result: results[index]?.result ?? 'failed' }))
      } catch (cause) {
        const refused = refusedLines(cause)
        if (refused.size === 0) throw cause
        // Without the refused lines it is a new call. The server did not execute the refused one.
        this.#batches = [
          ...this.#split(at.filter((_, index) => !refused.has(index))),
          ...this.#batches.slice(1),
        ]
        this.#settle(at, (index) => {
          const message = refused.get(index)
          return message === undefined ? {} : { result: 'refused', message }
        })
      }
      onProgress(this.#outcomes)
    }
  }

  #split(at: readonly number[]): Batch[] {
    const count = Math.ceil(at.length / BATCH)
    return Array.from({ length: count }, (_, index) => ({
      key: this.#newKey(),
      at: at.slice(index * BATCH, (index + 1) * BATCH),
    }))
  }

  #settle(at: readonly number[], of: (index: number) => Partial<Outcome>): void {
    const next = [...this.#outcomes]
    at.forEach((position, index) => {
      const before = next[position]
      if (before) next[position] = { ...before, ...of(index) }
    })
    this.#outcomes = next
  }
}

/** refusedLines returns the refused lines of a call with the reasons, from fields such as `users[3].email`. */
function refusedLines(cause: unknown): Map<number, string> {
  const lines = new Map<number, string>()
  if (!(cause instanceof ApiError) || cause.status !== 400) return lines
  for (const { field, message } of cause.fields) {
    const at = /^users(?:\[|\.)(\d+)/.exec(field)?.[1]
    if (at !== undefined && !lines.has(Number(at))) lines.set(Number(at), message)
  }
  return lines
}
