import { type ChildProcess, spawn } from 'node:child_process'

/** The maximum time for a program to become ready or to exit. */
const patienceMs = 240_000
/** The amount of a program's output that is kept for error messages. */
const keptOutput = 16_000

/** A program started by a test. It ends with the test, at the latest with the worker. */
export class Child {
  readonly #process: ChildProcess
  readonly #exited: Promise<void>
  readonly #onExit = () => this.#process.kill('SIGTERM')
  #output = ''

  constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.#process = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', () => resolve())
      this.#process.once('error', (error) => {
        this.#output += String(error)
        resolve()
      })
    })
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-keptOutput)
      })
    }
    process.once('exit', this.#onExit)
  }

  /** The end of its output so far. */
  get output(): string {
    return this.#output
  }

  /** Waits for a match in its output, and returns it. */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    const streams = [this.#process.stdout, this.#process.stderr]
    const matched = new Promise<RegExpMatchArray>((resolve) => {
      const look = () => {
        const match = this.#output.match(pattern)
        if (match === null) return
        for (const stream of streams) stream?.off('data', look)
        resolve(match)
      }
      for (const stream of streams) stream?.on('data', look)
      look()
    })
    const ended = this.#exited.then(() => {
      throw new Error(`The program ended before it was ready:\n${this.#output}`)
    })
    return within(Promise.race([matched, ended]), () => `${pattern} was not said:\n${this.#output}`)
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    process.off('exit', this.#onExit)
    this.#process.kill(signal)
    await within(this.#exited, () => `The program did not end:\n${this.#output}`)
  }
}

async function within<T>(promise: Promise<T>, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message())), patienceMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
