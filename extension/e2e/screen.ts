import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import { locate } from '../../web/e2e/support/browser'
import { Child } from '../../web/e2e/support/child'

const run = promisify(execFile)

/** An X display without a monitor. Its pointer and keyboard events reach the browser like real ones. */
export class Screen {
  private constructor(
    private readonly server: Child,
    /** The environment of programs that use the display. */
    readonly env: NodeJS.ProcessEnv,
  ) {}

  /** The missing programs; "" if all are installed. */
  static missing(): string {
    return ['Xvfb', 'xdotool'].filter((name) => locate(name) === undefined).join(', ')
  }

  static async start(): Promise<Screen> {
    // The server chooses a free number and writes it to the file descriptor.
    const server = new Child('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'])
    const [display] = await server.says(/^\d+$/m)
    return new Screen(server, { ...process.env, DISPLAY: `:${display}` })
  }

  stop(): Promise<void> {
    return this.server.end()
  }

  /** Presses keys, one chord after another, such as `alt+shift+t`. */
  async press(...chords: string[]): Promise<void> {
    await this.#send('key', '--delay', '60', ...chords)
  }

  /** Right-clicks at a position, and waits for the menu. */
  async openMenu(place: { readonly x: number; readonly y: number }): Promise<void> {
    const before = await this.#windows()
    const at = [place.x, place.y].map((value) => String(Math.round(value)))
    await this.#send('mousemove', '--sync', ...at, 'click', '3')
    // A menu is a separate window.
    await expect.poll(() => this.#windows()).toBeGreaterThan(before)
  }

  /** The number of visible windows. */
  async #windows(): Promise<number> {
    const found = await this.#send('search', '--onlyvisible', '--name', '.*').catch(() => '')
    return found.split('\n').length
  }

  async #send(...command: string[]): Promise<string> {
    return (await run('xdotool', command, { env: this.env })).stdout
  }
}
