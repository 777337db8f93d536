import { expect, test } from './support/test'

test('questions that may follow an answer are suggested, and asked by the keyboard', async ({
  page,
  chat,
  model,
  question,
}) => {
  model.script(question, {
    text: '三日前までに申請してください。',
    tokens_per_second: -1,
    suggestions: '1. 申請書はどこにありますか？\n2. 当日の申請はできますか？\n',
  })
  const requests: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/suggestion')) requests.push(request.method())
  })
  const list = page.getByRole('list', { name: '続きの質問の例' })
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  expect(requests, 'while they are off').toEqual([])

  await page.getByRole('button', { name: /さんのメニュー$/ }).click()
  await page.getByRole('menuitemcheckbox', { name: '続きの質問の提案' }).click()
  await page.keyboard.press('Escape')
  await expect(list.getByRole('button')).toHaveText([
    '申請書はどこにありますか？',
    '当日の申請はできますか？',
  ])

  // They are stored with the answer.
  await page.reload()
  await expect(list.getByRole('button')).toHaveCount(2)
  expect(requests).toEqual(['POST'])

  await chat.composer.fill('書きかけの質問')
  await list.getByRole('button', { name: '当日の申請はできますか？' }).focus()
  await page.keyboard.press('Enter')
  await expect(chat.questions.last()).toContainText('当日の申請はできますか？')
  await expect(chat.composer).toHaveValue('書きかけの質問')
  await chat.finished()
  await expect(list, 'only below the last answer').toHaveCount(0)
})
