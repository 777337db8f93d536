/** A program that tests use: a server under test, alone or with the programs that it needs. */
interface Program {
  stop(): Promise<void>
}

/** The maximum number of programs that run at the same time in a worker. One test uses two at most. */
const maxRunning = 4

/**
 * The programs of a worker, by name. Tests share them across files. They are not fixtures of the worker, because
 * Playwright replaces the worker, with its browser and all its programs, for a test with other fixtures.
 */
export class Programs {
  readonly #running = new Map<string, Promise<Program>>()

  /** Returns the program with a name, and starts it unless it is running. */
  async get<T extends Program>(name: string, start: () => Promise<T>): Promise<T> {
    const program = (this.#running.get(name) as Promise<T> | undefined) ?? start()
    // The one that was used last comes last. Test files run one after another, so the others are rarely used again.
    this.#running.delete(name)
    this.#running.set(name, program)
    for (const oldest of [...this.#running.keys()].slice(0, -maxRunning)) await this.#stop(oldest)
    return program
  }

  /** Stops all programs. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.#stop(name)))
  }

  async #stop(name: string): Promise<void> {
    const program = this.#running.get(name)
    this.#running.delete(name)
    // A program that did not start has failed its test already.
    await program?.then(
      (started) => started.stop(),
      () => {},
    )
  }
}

/** Combines programs that need each other, in the order of their start. */
export function together<T extends Readonly<Record<string, Program>>>(members: T): T & Program {
  const stop = async () => {
    for (const program of Object.values(members).reverse()) await program.stop()
  }
  return { ...members, stop }
}
