import { expect, type Locator, type Page } from '@playwright/test'
import type { Account } from './account'

/** The skill for tests that do not need a particular one. */
export const plainSkill = '汎用チャット'

/** A thread on a page. */
export class Chat {
  readonly page: Page
  readonly composer: Locator
  readonly send: Locator
  readonly stop: Locator
  /** Questions and answers, oldest first. */
  readonly turns: Locator
  readonly questions: Locator
  readonly answers: Locator
  readonly #account: Account

  constructor(page: Page, account: Account) {
    this.page = page
    this.#account = account
    this.composer = page.getByRole('textbox', { name: '質問' })
    this.send = page.getByRole('button', { name: '送信' })
    this.stop = page.getByRole('button', { name: '回答を停止' })
    this.turns = page.getByRole('list', { name: 'メッセージ' }).locator('> li')
    this.questions = this.turns.filter({
      has: page.getByRole('heading', { name: 'あなたの質問', exact: true }),
    })
    this.answers = this.turns.filter({ has: page.getByRole('heading', { name: '回答', exact: true }) })
  }

  /** The same thread on another page. */
  in(page: Page): Chat {
    return new Chat(page, this.#account)
  }

  /** Opens a skill's page. */
  async open(skill = plainSkill): Promise<void> {
    const { id } = await this.#account.skill(skill)
    await this.page.goto(`/home/skill/${id}`)
    await expect(this.page.getByRole('heading', { level: 1, name: skill })).toBeVisible()
  }

  /** Types a question and sends it with Enter. */
  async ask(question: string): Promise<void> {
    await this.composer.fill(question)
    await this.composer.press('Enter')
    await expect(this.questions.last()).toContainText(question)
  }

  get answer(): Locator {
    return this.answers.last()
  }

  /** Waits until the last answer has ended. */
  async finished(): Promise<void> {
    await expect(this.answer.getByRole('group', { name: '回答の操作' })).toBeVisible()
    await expect(this.answer).not.toHaveAttribute('aria-busy')
  }

  /** The thread's id, from the address. */
  async threadId(): Promise<string> {
    await this.page.waitForURL(/\/chat\/[0-9a-f-]{36}$/)
    return this.page.url().split('/').at(-1) ?? ''
  }

  /** Returns the text that the copy button of an answer copies: Markdown, not the rendered text. */
  async copied(answer = this.answer): Promise<string> {
    await this.page.bringToFront()
    await this.page.evaluate(() => navigator.clipboard.writeText(''))
    await answer.getByRole('button', { name: 'コピー', exact: true }).last().click()
    const read = () => this.page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(read).not.toBe('')
    return read()
  }

  /** The displayed length of the last answer, in characters. */
  async shown(): Promise<number> {
    return ((await this.answer.textContent()) ?? '').length
  }
}
