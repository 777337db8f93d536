import { hold } from './support/hold'
import { expect, test } from './support/test'

test.describe('an answer while it is written', () => {
  test('grows before the eyes, and a reload in its middle loses and repeats nothing', async ({
    chat,
    model,
    account,
    page,
    question,
  }) => {
    const directive = { chars: 900, seed: 3, tokens_per_second: 120, title: '会議室の予約' }
    model.script(question, directive)
    const whole = await model.text(directive)
    const middle = model.pause(question, 220)

    await chat.open()
    await chat.ask(question)
    let last = 0
    for (let grown = 0; grown < 4; grown++) {
      await expect.poll(() => chat.shown(), { intervals: [40] }).toBeGreaterThan(last)
      last = await chat.shown()
    }
    await expect(chat.stop).toBeVisible()
    await middle.reached
    await page.reload()
    await expect.poll(() => chat.shown()).toBeGreaterThan(150)
    await expect(chat.answer).toHaveAttribute('aria-busy', 'true')

    // The stored answer must not come to the help of the text that was put together here.
    const records = await hold(page, /\/v1\/message\?.*limit=2(&|$)/)
    middle.release()
    await chat.finished()
    expect(await chat.copied()).toBe(whole)
    records.release()

    const [asked, answered] = await account.messages(await chat.threadId())
    expect(asked?.content).toBe(question)
    expect(answered).toMatchObject({ status: 'success', finish_reason: 'stop', content: whole })
    const shown = await chat.answer.textContent()
    await page.reload()
    await chat.finished()
    expect(await chat.answer.textContent()).toBe(shown)
    expect(await chat.copied()).toBe(whole)
    expect(model.asked(question)).toBe(1)
    await expect(page.getByRole('heading', { level: 1, name: '会議室の予約' })).toBeVisible()
  })
})
