import type { Locator } from '@playwright/test'
import { Line } from './support/line'
import { expect, test } from './support/test'

const thought =
  '利用者は有給休暇について尋ねている。**規程**の第十二条を思い出し、申請の期限と書式を順に説明すればよい。'
const answer = '三日前までに、総務部へ申請書を出してください。'
const fold = (turn: Locator) => turn.getByRole('group').filter({ hasText: /考えています|思考の過程/ })

test.describe('reasoning before an answer', () => {
  for (const form of ['reasoning_content', 'think'] as const) {
    test(`is folded next to the answer, and not part of it (${form})`, async ({
      page,
      chat,
      model,
      question,
    }) => {
      model.script(question, {
        reasoning: thought,
        reasoning_form: form,
        text: answer,
        tokens_per_second: 200,
      })
      const thinking = model.pause(question, 20)
      await chat.open()
      await chat.ask(question)
      await thinking.reached
      await expect(chat.answer.getByText(/^考えています… \d+秒$/)).toBeVisible()
      await expect(chat.answer.getByText('回答を作成しています')).toBeHidden()
      await expect(chat.answer.getByText('利用者は')).toBeHidden()

      // It can be watched, and a tab that joins late has it from the start.
      await chat.answer.getByText(/^考えています/).click()
      await expect(chat.answer.getByText(/^利用者は有給休暇/)).toBeVisible()
      await chat.threadId()
      const other = chat.in(await page.context().newPage())
      await other.page.goto(page.url())
      await other.answer.getByText(/^考えています/).click()
      await expect(other.answer.getByText(/^利用者は有給休暇/)).toBeVisible()

      thinking.release()
      for (const place of [chat, other]) {
        await place.finished()
        await expect(place.answer.getByText(/^思考の過程（\d+秒）$/)).toBeVisible()
        await expect(place.answer.getByText('順に説明すればよい。')).toBeVisible()
        await expect(place.answer.getByText('規程', { exact: true })).toHaveCount(1)
        await expect(place.answer.getByText(answer)).toBeVisible()
      }
      expect(await chat.copied()).toBe(answer)

      await page.reload()
      await expect(chat.answer.getByText(/^思考の過程（\d+秒）$/)).toBeVisible()
      await expect(chat.answer.getByText('順に説明すればよい。')).toBeHidden()
      await chat.answer.getByText(/^思考の過程/).click()
      await expect(chat.answer.getByText('順に説明すればよい。')).toBeVisible()
      await page.emulateMedia({ media: 'print' })
      await expect(fold(chat.answer)).toBeHidden()
      await expect(chat.answer.getByText(answer)).toBeVisible()
    })
  }

  test('is complete after the connection was cut meanwhile', async ({
    chat: near,
    device,
    server,
    model,
    question,
  }) => {
    model.script(question, { reasoning: thought, text: answer, tokens_per_second: 200 })
    const [early, late] = model.pauses(question, 10, 25)
    const line = await Line.start(server.url)
    const chat = near.in(await device(line.url))
    await chat.open()
    await chat.ask(question)
    await early?.reached
    await chat.answer.getByText(/^考えています/).click()
    await expect(chat.answer.getByText(/^利用者は/)).toBeVisible()
    line.cut()
    early?.release()
    await late?.reached
    line.mend()
    late?.release()
    await chat.finished()
    await expect(chat.answer.locator('details')).toContainText(thought.replaceAll('*', ''))
    expect(await chat.copied()).toBe(answer)
    await line.stop()
  })

  test('alone is not an answer: the reason is shown, and the reasoning is kept', async ({
    chat,
    model,
    question,
  }) => {
    model.script(question, { reasoning: thought, no_answer: true, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await expect(chat.answer.getByText('AIモデルが回答を生成できませんでした。')).toBeVisible()
    await expect(chat.answer.getByRole('button', { name: 'やり直す' })).toBeVisible()
    await chat.answer.getByText(/^思考の過程/).click()
    await expect(chat.answer.getByText('順に説明すればよい。')).toBeVisible()
  })

  test('an answer that a filter stopped shows the reason', async ({ chat, model, question }) => {
    model.script(question, { text: answer, fail: 'filter', fail_after: 6, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await expect(
      chat.answer.getByText('AIモデルの安全基準により、回答を続けられませんでした。'),
    ).toBeVisible()
    await expect(chat.answer.getByText('三日前までに')).toBeVisible()
  })
})
