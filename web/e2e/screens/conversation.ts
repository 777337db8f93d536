import type { Chat } from '../support/chat'
import type { Model } from '../support/model'
import { expect } from '../support/test'
import * as sample from './sample'
import { shoot, sizes } from './shoot'

/** Takes the screenshots of a thread: while it is written, complete, failed and rated. */
export async function conversation(chat: Chat, model: Model): Promise<void> {
  const { page } = chat
  model.script(sample.question, { text: sample.answer, token_chars: 6, title: '研修費の部署別の負担' })
  const middle = model.pause(sample.question, 96)
  await page.setViewportSize(sizes.wide)
  await chat.open()
  await chat.ask(sample.question)
  await middle.reached
  await expect(chat.answer).toContainText('総務部')
  await shoot(page, { name: 'chat-writing', open: () => expect(chat.stop).toBeVisible() })
  middle.release()
  await chat.finished()
  await expect(chat.answer.locator('.katex').first()).toBeVisible()
  await shoot(page, {
    name: 'chat',
    open: async () => {
      await page.reload()
      await chat.finished()
      await expect(chat.answer.locator('.katex').first()).toBeVisible()
      await chat.questions.first().scrollIntoViewIfNeeded()
    },
  })
  model.script(
    sample.follow,
    { text: sample.shorter, fail: 'error', fail_after: 90 },
    { text: sample.shorter },
  )
  await page.setViewportSize(sizes.wide)
  await chat.ask(sample.follow)
  await chat.finished()
  await shoot(page, { name: 'chat-failed', open: () => chat.answer.scrollIntoViewIfNeeded() })
  await page.setViewportSize(sizes.wide)
  await chat.answer.getByRole('button', { name: 'やり直す', exact: true }).click()
  await expect(chat.answer).toContainText('残りの部署で分ける')
  await chat.finished()
  await chat.answer.getByRole('button', { name: '良くない回答' }).click()
  await expect(page.getByRole('dialog')).toBeVisible()
  await shoot(page, {
    name: 'feedback',
    only: 'wide',
    open: () => expect(page.getByRole('dialog')).toBeVisible(),
  })
}
