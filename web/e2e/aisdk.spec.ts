import type { Locator, Page } from '@playwright/test'
import { bundle } from './support/bundle'
import { Gateway } from './support/gateway'
import { Line } from './support/line'
import { expect, test } from './support/test'

/** The page's script. */
let script: Promise<string> | undefined

/** The page in a browser, at the server's own address. */
class ChatPage {
  readonly answer: Locator
  readonly status: Locator

  private constructor(
    readonly page: Page,
    private readonly path: string,
  ) {
    this.answer = page.locator('[data-role=assistant]')
    this.status = page.getByRole('status')
  }

  static async open(page: Page, threadId: string, idToken: string): Promise<ChatPage> {
    script ??= bundle('page.tsx')
    const code = await script
    await page.route('**/ai-sdk.js', (route) => route.fulfill({ contentType: 'text/javascript', body: code }))
    await page.route('**/ai-sdk?*', (route) =>
      route.fulfill({
        contentType: 'text/html; charset=utf-8',
        body:
          '<!doctype html><title>AI SDK</title><div id="root"></div>' +
          '<script type="module" src="/ai-sdk.js"></script>',
      }),
    )
    await page.addInitScript((token) => Object.assign(window, { idToken: token }), idToken)
    const opened = new ChatPage(page, `/ai-sdk?thread=${threadId}`)
    await opened.load()
    return opened
  }

  async load(): Promise<void> {
    await this.page.goto(this.path)
    await expect(this.status).toBeVisible()
  }

  async ask(question: string): Promise<void> {
    await this.page.getByLabel('質問').fill(question)
    await this.page.getByRole('button', { name: '送信' }).click()
  }

  /** The text of the answer, once useChat reports it as ready. */
  async finished(): Promise<string | null> {
    await expect(this.status).toHaveText('ready')
    await expect(this.answer).toHaveCount(1)
    return this.answer.textContent()
  }
}

test.describe('useChat with the transport of clients/ai-sdk', () => {
  test('shows the stored text through a cut connection', async ({
    device,
    model,
    server,
    account,
    question,
  }) => {
    const directive = { chars: 1500, seed: 4, tokens_per_second: 400 }
    model.script(question, directive)
    const middle = model.pause(question, 80)
    const thread = await account.newThread('汎用チャット')
    const line = await Line.start(server.url)
    const chat = await ChatPage.open(await device(line.url), thread.id, account.idToken)
    await chat.ask(question)
    await middle.reached
    await expect(chat.answer).toHaveText(/.{40}/s)
    line.cut()
    middle.release()
    await expect(chat.status).toHaveText('streaming')
    line.mend()
    const shown = await chat.finished()
    const stored = (await account.messages(thread.id)).at(-1)
    expect(shown).toBe(stored?.content)
    expect(shown).toBe(await model.text(directive))
    await expect(chat.answer).toHaveAttribute('data-id', stored?.id ?? '')
    expect(model.asked(question)).toBe(1)
    await line.stop()
  })

  test('R20: replaces the text when a killed server writes the answer again', async ({
    page,
    model,
    server,
    account,
    question,
  }) => {
    test.slow()
    const second = { text: '二度目は、はじめから書き直した答えです。'.repeat(20), tokens_per_second: 200 }
    model.script(question, { text: '一度目の答えです。'.repeat(40), tokens_per_second: 120 }, second)
    const middle = model.pause(question, 80)
    const thread = await account.newThread('汎用チャット')
    const chat = await ChatPage.open(page, thread.id, account.idToken)
    await chat.ask(question)
    await middle.reached
    await expect(chat.answer).toContainText('一度目の答えです。')
    await server.kill()
    await server.resume()
    middle.release()
    expect(await chat.finished()).toBe(second.text)
    expect((await account.messages(thread.id)).at(-1)?.content).toBe(second.text)
    expect(model.asked(question)).toBe(2)
  })

  test('a reloaded page shows the running answer from its beginning', async ({
    page,
    model,
    account,
    question,
  }) => {
    const directive = { chars: 600, seed: 5, tokens_per_second: 400 }
    model.script(question, directive)
    const middle = model.pause(question, 60)
    const thread = await account.newThread('汎用チャット')
    const chat = await ChatPage.open(page, thread.id, account.idToken)
    await chat.ask(question)
    await middle.reached
    await chat.load()
    await expect(chat.answer).toHaveText(/.{40}/s)
    middle.release()
    expect(await chat.finished()).toBe(await model.text(directive))
    await chat.load() // Now no answer is running.
    await expect(chat.status).toHaveText('ready')
    await expect(chat.answer).toHaveCount(0)
    expect(model.asked(question)).toBe(1)
  })

  test('stops the answer, and shows the stored part', async ({ page, model, account, question }) => {
    model.script(question, { chars: 2000, seed: 6, tokens_per_second: 300 })
    const middle = model.pause(question, 100)
    const thread = await account.newThread('汎用チャット')
    const chat = await ChatPage.open(page, thread.id, account.idToken)
    await chat.ask(question)
    await middle.reached
    await expect(chat.answer).toHaveText(/.{40}/s)
    await page.getByRole('button', { name: '停止' }).click()
    const shown = await chat.finished()
    middle.release()
    const stored = (await account.messages(thread.id)).at(-1)
    expect(stored).toMatchObject({ status: 'success', finish_reason: 'stopped' })
    expect(shown).toBe(stored?.content)
  })
})

test('EventSource through a gateway ends with the stored text after any cut', async ({
  page,
  model,
  server,
  account,
  question,
}) => {
  const directive = { chars: 900, seed: 7, tokens_per_second: 400 }
  model.script(question, directive)
  const thread = await account.newThread('汎用チャット')
  const asked = { request_id: crypto.randomUUID(), thread_id: thread.id, content: question }
  const { answer } = (await (await account.call('POST', '/v1/message/async', asked)).json()) as {
    answer: { id: string }
  }
  const cuts = Array.from({ length: 3 }, () => 300 + Math.floor(Math.random() * 1500))
  const gateway = await Gateway.start(server.url, account.idToken, await bundle('watch.ts'), cuts)
  await page.goto(`${gateway.url}/?message=${answer.id}`)
  await expect(page, `cut at ${cuts}`).toHaveTitle('done')
  expect(await page.textContent('body'), `cut at ${cuts}`).toBe(await model.text(directive))
  expect((await account.messages(thread.id)).at(-1)?.content).toBe(await model.text(directive))
  expect(gateway.cursors.length, `cut at ${cuts}`).toBeGreaterThan(1)
  await gateway.stop()
})
