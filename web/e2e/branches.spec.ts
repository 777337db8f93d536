import type { Page } from '@playwright/test'
import { expect, test } from './support/test'

/** chosen waits until the choice of a branch on a page is stored. The last one stored is shown after a reload. */
const chosen = (page: Page) =>
  page.waitForResponse(
    (response) => /\/v1\/thread\/[^/]+$/.test(response.url()) && response.request().method() === 'PUT',
  )

test.describe('Branches', () => {
  test('an edited question begins one, ‹ › goes back, and a reload keeps it', async ({
    chat,
    page,
    device,
    account,
    model,
    question,
  }) => {
    const second = `${question} その二`
    const edited = `${question} 改`
    model.script(second, { text: '元の答えです。' })
    model.script(edited, { text: '改めた答えです。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.ask(second)
    await chat.finished()
    const other = chat.in(await device())
    await other.page.goto(page.url())
    await expect(other.answer).toContainText('元の答えです。')

    // By keyboard alone: the pencil, the field with the whole text, and the key that sends.
    const asked = chat.questions.last()
    await asked.getByRole('button', { name: '質問を編集' }).press('Enter')
    const field = asked.getByRole('textbox', { name: '質問の編集' })
    await expect(field).toBeFocused()
    await expect(field).toHaveValue(second)
    await expect(asked).toContainText('元の質問と回答は残り')
    await field.press('Escape')
    await expect(field).toHaveCount(0)
    await asked.getByRole('button', { name: '質問を編集' }).click()
    await field.fill(edited)
    await field.press('Enter')
    await expect(chat.answer).toContainText('改めた答えです。')
    await chat.finished()
    await expect(chat.turns).toHaveCount(4)
    await expect(chat.composer).toBeFocused()
    const alternatives = chat.questions.last().getByRole('group', { name: '質問の切り替え' })
    await expect(alternatives).toContainText('2/2')

    // A reader of another branch is offered the new one, not moved to it.
    await expect(other.page.getByText('別の分岐に新しい回答があります。')).toBeVisible()
    await expect(other.answer).toContainText('元の答えです。')
    await expect(other.questions.last().getByRole('group', { name: '質問の切り替え' })).toContainText('1/2')
    const otherChose = chosen(other.page)
    await other.page.getByRole('button', { name: '表示する' }).click()
    await expect(other.answer).toContainText('改めた答えです。')
    await otherChose

    const previous = alternatives.getByRole('button', { name: '前の質問へ' })
    const chose = chosen(page)
    await previous.press('Enter')
    await expect(chat.answer).toContainText('元の答えです。')
    await expect(alternatives).toContainText('1/2')
    await expect(previous).toBeFocused()
    await chose
    await page.reload()
    await expect(chat.answer).toContainText('元の答えです。')

    // The next question continues from here.
    await chat.ask(`${question} 続き`)
    await chat.finished()
    await expect(chat.turns).toHaveCount(6)
    const said = (await account.messages(await chat.threadId())).map(({ content }) => content)
    expect(said.slice(2, 5)).toEqual([second, '元の答えです。', `${question} 続き`])
  })

  test('any answer can be regenerated, and later messages are kept', async ({ chat, model, question }) => {
    model.script(question, { text: '一つ目の答えです。' }, { text: '別の答えです。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.ask(`${question} 続き`)
    await chat.finished()
    await chat.answers.first().getByRole('button', { name: '回答を再生成' }).click()
    await expect(chat.answer).toContainText('別の答えです。')
    await chat.finished()
    await expect(chat.turns).toHaveCount(2)
    await chat.answer.getByRole('button', { name: '前の回答へ' }).click()
    await expect(chat.turns).toHaveCount(4)
    await expect(chat.answers.first()).toContainText('一つ目の答えです。')
    await expect(chat.answers.first().getByRole('group', { name: '回答の切り替え' })).toContainText('1/2')
  })

  test('an answer continues while another branch is shown', async ({ chat, model, question, page }) => {
    const edited = `${question} 改`
    model.script(edited, { chars: 900, seed: 5, tokens_per_second: 200 })
    const middle = model.pause(edited, 120)
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const asked = chat.questions.last()
    await asked.getByRole('button', { name: '質問を編集' }).click()
    await asked.getByRole('textbox', { name: '質問の編集' }).fill(edited)
    await asked.getByRole('button', { name: '送信' }).click()
    await middle.reached
    await asked.getByRole('button', { name: '前の質問へ' }).click()
    await expect(page.getByText('別の分岐で回答を作成中です。')).toBeVisible()
    await expect(chat.answer).not.toHaveAttribute('aria-busy')

    // The next question is queued, and is sent in the branch where it was typed.
    await chat.composer.fill(`${question} 続き`)
    await chat.composer.press('Enter')
    await expect(page.getByRole('region', { name: '送信待ちの質問' })).toContainText('続き')
    middle.release()
    await expect(chat.questions.last()).toContainText('続き')
    await chat.finished()
    await expect(chat.questions.first()).not.toContainText('改')
    await chat.questions.first().getByRole('button', { name: '次の質問へ' }).click()
    await expect.poll(() => chat.shown()).toBeGreaterThan(600)
  })

  test('a sent form opens again with its values', async ({ chat, page, question }) => {
    await chat.open('翻訳')
    await page.getByRole('textbox', { name: '原文' }).fill(question)
    await page.getByRole('combobox', { name: '訳文の言語' }).selectOption('英語')
    await page.getByRole('combobox', { name: '文体' }).selectOption('ビジネス')
    await page.getByRole('button', { name: '実行' }).click()
    await chat.finished()
    const asked = chat.questions.last()
    await asked.getByRole('button', { name: '質問を編集' }).click()
    const text = asked.getByRole('textbox', { name: '原文' })
    await expect(text).toHaveValue(question)
    await expect(asked.getByRole('combobox', { name: '訳文の言語' })).toHaveValue('英語')
    await text.fill(`${question} 改`)
    await asked.getByRole('button', { name: '送信' }).click()
    await expect(asked).toContainText(`${question} 改`)
    await chat.finished()
    await asked.getByRole('button', { name: '前の質問へ' }).click()
    await expect(asked).not.toContainText('改')
    await page.reload()
    await asked.getByRole('button', { name: '質問を編集' }).click()
    await expect(asked.getByRole('textbox', { name: '原文' })).toHaveValue(question)
  })

  test('a search result in another branch is opened there', async ({ chat, page, model, question }) => {
    model.script(question, { text: 'はじめの答えに蚕の話があります。' }, { text: '別の答えです。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.answer.getByRole('button', { name: '回答を再生成' }).click()
    await expect(chat.answer).toContainText('別の答えです。')
    await chat.finished()
    await page.getByRole('textbox', { name: 'チャットを検索' }).fill('蚕の話')
    await page.getByRole('navigation', { name: 'チャット' }).getByRole('link').first().click()
    await expect(chat.answer).toContainText('蚕の話')
    await expect(chat.answer.getByRole('group', { name: '回答の切り替え' })).toContainText('1/2')
  })
})
