import { hold } from './support/hold'
import { Line } from './support/line'
import { expect, test } from './support/test'

/** An answer slow enough to be watched, and the title of its thread. */
const slow = { chars: 900, seed: 3, tokens_per_second: 120, title: '会議室の予約' }

test.describe('a running answer', () => {
  test('R28: grows visibly, and a reload during it loses and repeats nothing', async ({
    chat,
    model,
    account,
    page,
    question,
  }) => {
    model.script(question, slow)
    const whole = await model.text(slow)
    const steps = model.pauses(question, 40, 80, 120, 220)
    const middle = steps.at(-1)

    await chat.open()
    await chat.ask(question)
    let last = 0
    for (const step of steps) {
      await step.reached
      await expect.poll(() => chat.shown(), { intervals: [40] }).toBeGreaterThan(last)
      last = await chat.shown()
      if (step !== middle) step.release()
    }
    await expect(chat.stop).toBeVisible()
    await page.reload()
    await expect.poll(() => chat.shown()).toBeGreaterThan(150)
    await expect(chat.answer).toHaveAttribute('aria-busy', 'true')

    // The stored answer must not hide an error in the text that was assembled here.
    const records = await hold(page, /\/v1\/message\?.*limit=2(&|$)/)
    middle?.release()
    await chat.finished()
    const shown = await chat.answer.textContent()
    expect(await chat.copied()).toBe(whole)
    records.release()

    const [asked, answered] = await account.messages(await chat.threadId())
    expect(asked?.content).toBe(question)
    expect(answered).toMatchObject({ status: 'success', finish_reason: 'stop', content: whole })
    await page.reload()
    await chat.finished()
    expect(await chat.answer.textContent()).toBe(shown)
    expect(await chat.copied()).toBe(whole)
    expect(model.asked(question)).toBe(1)
    await expect(page.getByRole('heading', { level: 1, name: '会議室の予約' })).toBeVisible()
  })

  test('R28: completes without viewers, and is there on return', async ({
    chat,
    context,
    model,
    account,
    question,
  }) => {
    model.script(question, slow)
    const middle = model.pause(question, 100)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    const threadId = await chat.threadId()
    const address = chat.page.url()
    await chat.page.close()
    middle.release()
    await expect.poll(async () => (await account.messages(threadId)).at(-1)?.status).toBe('success')

    const back = chat.in(await context.newPage())
    await back.page.goto(address)
    await back.finished()
    expect(await back.copied()).toBe(await model.text(slow))
    expect(model.asked(question)).toBe(1)
  })

  test('continues while another page is shown, and is still live on return', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, slow)
    const middle = model.pause(question, 100)
    const later = model.pause(question, 100)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    const threadId = await chat.threadId()
    await page.getByRole('link', { name: 'Tsumugi スキル一覧' }).click()
    await expect(page.getByRole('main').getByRole('listitem').first()).toContainText('汎用チャット')
    const entry = page.getByRole('navigation', { name: 'チャット' }).locator(`a[href$="${threadId}"]`)
    await expect(entry).toContainText('回答を作成しています')
    await entry.click()
    await expect(chat.answer).toHaveAttribute('aria-busy', 'true')
    await expect.poll(() => chat.shown()).toBeGreaterThan(150)
    middle.release()
    later.release()
    await chat.finished()
    expect(await chat.copied()).toBe(await model.text(slow))
    await expect(entry).not.toContainText('回答を作成しています')
    expect(model.asked(question)).toBe(1)
  })

  test('R17: is the same in two tabs, and stopping in either ends both', async ({
    chat,
    context,
    model,
    account,
    question,
  }) => {
    model.script(question, slow)
    const middle = model.pause(question, 120)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    const threadId = await chat.threadId()
    const other = chat.in(await context.newPage())
    await other.page.goto(chat.page.url())
    await expect(other.answer).toHaveAttribute('aria-busy', 'true')
    await expect.poll(() => other.shown()).toBeGreaterThan(150)
    const texts = () => Promise.all([chat, other].map((tab) => tab.answer.textContent()))
    await expect.poll(async () => new Set(await texts()).size).toBe(1)

    await other.stop.click()
    for (const tab of [chat, other]) {
      await tab.finished()
      await expect(tab.answer).toContainText('停止しました')
    }
    middle.release()
    const stored = (await account.messages(threadId)).at(-1)
    expect(stored).toMatchObject({ status: 'success', finish_reason: 'stopped' })
    expect((await model.text(slow)).startsWith(stored?.content ?? '-')).toBe(true)
    expect(await chat.copied()).toBe(stored?.content)
    expect(await other.copied()).toBe(stored?.content)
    expect(model.asked(question)).toBe(1)
  })

  test('is the same on another device, to the last character', async ({ chat, device, model, question }) => {
    model.script(question, slow)
    const middle = model.pause(question, 60)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await chat.threadId()
    const other = chat.in(await device())
    await other.page.goto(chat.page.url())
    await expect.poll(() => other.shown()).toBeGreaterThan(50)
    middle.release()
    for (const place of [chat, other]) await place.finished()
    expect(await other.copied()).toBe(await model.text(slow))
    expect(await chat.copied()).toBe(await model.text(slow))
  })

  test('survives the loss of the network, and so does the next question', async ({
    chat: near,
    device,
    server,
    model,
    question,
  }) => {
    const next = `次です。${question}`
    model.script(question, slow)
    model.script(next, { text: '次の回答です。' })
    const middle = model.pause(question, 120)
    const line = await Line.start(server.url)
    const page = await device(line.url)
    const chat = near.in(page)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await page.context().setOffline(true)
    line.cut()
    await expect(chat.answer.getByText('接続が切れました。再接続しています')).toBeVisible()
    await expect.poll(() => chat.shown()).toBeGreaterThan(150)
    await chat.composer.fill(next)
    await chat.composer.press('Enter')
    await expect(chat.composer).toHaveValue('')
    const queue = page.getByRole('region', { name: '送信待ちの質問' })
    await expect(queue.getByRole('listitem')).toHaveText([next])
    middle.release()
    line.mend()
    await page.context().setOffline(false)
    await expect(chat.questions).toHaveCount(2)
    await expect(chat.answer).toContainText('次の回答です。')
    await chat.finished()
    await expect(queue).toHaveCount(0)
    expect(await chat.copied(chat.answers.first())).toBe(await model.text(slow))
    // The next question contains the first one.
    expect([model.asked(question), model.asked(next)]).toEqual([2, 1])
    await line.stop()
  })
})
