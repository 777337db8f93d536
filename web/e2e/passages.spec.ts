import type { Page } from '@playwright/test'
import { expect, test } from './support/test'

/** Selects the text of the element with this text, as the reader does with the mouse. */
async function select(page: Page, text: string): Promise<void> {
  await page.getByText(text, { exact: true }).click({ clickCount: 3 })
}

test('an answer that its length has cut is continued by a question', async ({
  page,
  chat,
  model,
  question,
}) => {
  model.script(question, { text: '第一章は長い', finish: 'length', tokens_per_second: -1 })
  model.script('続きを書いてください', { text: '物語です。', tokens_per_second: -1 })
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  await expect(chat.answer).toContainText('文字数の上限に達したため、回答は途中までです。')
  await page.reload()
  await chat.answer.getByRole('button', { name: '続きを書く' }).click()
  await expect(chat.answers).toHaveCount(2)
  await chat.finished()
  await expect(chat.answer).toContainText('物語です。')
  await expect(page.getByRole('button', { name: '続きを書く' })).toHaveCount(0)
})

test.describe('a selected passage of an answer', () => {
  test.beforeEach(async ({ chat, model, question }) => {
    model.script(question, { text: '最初の段落です。\n\n次の段落です。', tokens_per_second: -1 })
    model.script('次の部分を訳してください', { text: 'The next paragraph.', tokens_per_second: -1 })
    model.script('別の言い方にしてください', { text: '続きの段落です。', tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
  })

  test('is quoted in the composer, translated, rephrased, and copied', async ({ page, chat, question }) => {
    const toolbar = page.getByRole('toolbar', { name: '選択した部分の操作' })
    await expect(toolbar).toHaveCount(0)
    await select(page, '最初の段落です。')
    await toolbar.getByRole('button', { name: '質問する' }).click()
    await expect(toolbar).toHaveCount(0)
    await expect(chat.composer).toHaveValue('> 最初の段落です。\n\n')
    await expect(chat.composer).toBeFocused()
    await page.keyboard.type('理由は？')
    await expect(chat.composer).toHaveValue('> 最初の段落です。\n\n理由は？')

    await select(page, '次の段落です。')
    await toolbar.getByRole('button', { name: 'コピー' }).click()
    await expect(toolbar.getByText('コピーしました')).toBeAttached()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('次の段落です。')

    await page.getByText('最初の段落です。', { exact: true }).click()
    await select(page, '次の段落です。')
    await expect(toolbar).toBeVisible()
    await page.keyboard.press('Escape')
    await chat.answer.getByRole('button', { name: '良い回答' }).click()
    await expect(toolbar).toHaveCount(0)
    await select(page, '最初の段落です。')
    await expect(toolbar).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(toolbar).toHaveCount(0)
    await select(page, '次の段落です。')
    await expect(toolbar).toBeVisible()
    // The toolbar is reachable by keyboard.
    await page.keyboard.press('Alt+F10')
    await expect(toolbar.getByRole('button', { name: '質問する' })).toBeFocused()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect(chat.questions.last()).toContainText('> 次の段落です。')
    await chat.finished()
    await expect(chat.answer).toContainText('The next paragraph.')
    await expect(chat.composer).toHaveValue('> 最初の段落です。\n\n理由は？')

    await select(page, '最初の段落です。')
    await toolbar.getByRole('button', { name: '言い換える' }).click()
    await expect(chat.questions.last()).toContainText('> 最初の段落です。')
    await chat.finished()
    await expect(chat.answer).toContainText('続きの段落です。')
    await expect(chat.composer).toHaveValue('> 最初の段落です。\n\n理由は？')

    // A question is not an answer.
    await select(page, question)
    await expect(toolbar).toHaveCount(0)
  })
})

test.describe('a selected passage of an answer, on a phone', () => {
  test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })

  test('is quoted and translated, although a tap removes the selection', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: '最初の段落です。\n\n次の段落です。', tokens_per_second: -1 })
    model.script('次の部分を訳してください', { text: 'The next paragraph.', tokens_per_second: -1 })
    await chat.open()
    await chat.composer.fill(question)
    await page.getByRole('button', { name: '送信' }).tap()
    await chat.finished()
    const toolbar = page.getByRole('toolbar', { name: '選択した部分の操作' })
    const selectParagraph = (text: string) =>
      page
        .getByText(text, { exact: true })
        .evaluate((paragraph) => getSelection()?.selectAllChildren(paragraph))
    await selectParagraph('最初の段落です。')
    await expect(toolbar).toBeVisible()
    const box = await toolbar.boundingBox()
    const composer = await chat.composer.boundingBox()
    expect((box?.y ?? 844) + (box?.height ?? 0)).toBeLessThanOrEqual(composer?.y ?? 0)
    await toolbar.getByRole('button', { name: '質問する' }).tap()
    await expect(toolbar).toHaveCount(0)
    await expect(chat.composer).toHaveValue('> 最初の段落です。\n\n')

    await selectParagraph('次の段落です。')
    await expect(toolbar).toBeVisible()
    await toolbar.getByRole('button', { name: '訳す' }).evaluate(async (button) => {
      button.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))
      const removed = new Promise((resolve) =>
        document.addEventListener('selectionchange', resolve, { once: true }),
      )
      getSelection()?.removeAllRanges()
      await removed
      button.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }))
    })
    await toolbar.getByRole('button', { name: '訳す' }).tap()
    await expect(chat.questions.last()).toContainText('> 次の段落です。')
    await chat.finished()
    await expect(toolbar).toHaveCount(0)

    await selectParagraph('最初の段落です。')
    await expect(toolbar).toBeVisible()
    await chat.questions.first().tap()
    await page.evaluate(() => getSelection()?.removeAllRanges())
    await expect(toolbar).toHaveCount(0)
  })
})
