import { type CDPSession, expect, type Locator, type Page } from '@playwright/test'

/** Simulates a Japanese input method in a page, with the same browser events as a real one. */
export class InputMethod {
  readonly #page: Page
  readonly #session: CDPSession

  private constructor(page: Page, session: CDPSession) {
    this.#page = page
    this.#session = session
  }

  static async attach(page: Page): Promise<InputMethod> {
    return new InputMethod(page, await page.context().newCDPSession(page))
  }

  /**
   * Shows unconfirmed texts one after the other in a field that has just received the focus. The browser receives
   * the focus a moment after the page and then ends the composition, so it is started again.
   */
  async begin(field: Locator, ...texts: readonly string[]): Promise<void> {
    await expect(async () => {
      await field.fill('')
      for (const text of texts) await this.compose(text)
      await expect(field).toHaveValue(texts.at(-1) ?? '', { timeout: 2000 })
    }).toPass()
  }

  /** Shows unconfirmed text at the cursor, replacing earlier unconfirmed text. */
  async compose(text: string): Promise<void> {
    const end = text.length
    await this.#session.send('Input.imeSetComposition', { text, selectionStart: end, selectionEnd: end })
  }

  /** Confirms: the composition ends and its text stays. */
  async confirm(text: string): Promise<void> {
    await this.#session.send('Input.insertText', { text })
  }

  /** Waits a moment after the end of a composition, because no user types as fast as a test. */
  async pass(): Promise<void> {
    await this.#page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
  }

  /** Sends the Enter that belongs to the input method: browsers report it with the key code 229. */
  async processedEnter(): Promise<void> {
    await this.#enter(229)
  }

  /** Sends an Enter with its own key code, as some browsers report it even while text is unconfirmed. */
  async plainEnter(): Promise<void> {
    await this.#enter(13)
  }

  async #enter(code: number): Promise<void> {
    const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: code, nativeVirtualKeyCode: code }
    await this.#session.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...key })
    await this.#session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key })
  }
}
