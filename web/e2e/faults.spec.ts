import { openSkills } from './support/skills'
import { expect, test } from './support/test'

/** The reports of the page to the test. */
interface Notes {
  noteAlert(text: string): Promise<void>
}

/** Runs in the page: the space that a line takes from its surroundings. */
function roomFor(line: HTMLElement | SVGElement): number {
  const list = line.closest('ol')
  const before = list?.offsetHeight ?? 0
  line.style.display = 'none'
  const after = list?.offsetHeight ?? 0
  line.style.display = ''
  return before - after
}

test.describe('when something breaks', () => {
  test('R20: a server killed during an answer answers completely after its restart', async ({
    chat,
    model,
    server,
    account,
    question,
  }) => {
    test.slow()
    const first = { text: '一度目の答えです。'.repeat(40), tokens_per_second: 120 }
    const second = { text: '二度目は、はじめから書き直した答えです。'.repeat(20), tokens_per_second: 200 }
    model.script(question, first, second)
    const middle = model.pause(question, 80)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await expect(chat.answer).toContainText('一度目の答えです。')
    const threadId = await chat.threadId()
    await server.kill()
    await expect(chat.answer.getByText('接続が切れました。再接続しています')).toBeVisible()
    await server.resume()
    middle.release()

    await chat.finished()
    const shown = await chat.answer.textContent()
    expect(shown).not.toContain('一度目')
    expect(await chat.copied()).toBe(second.text)
    const messages = await account.messages(threadId)
    expect(messages.map(({ role, status }) => `${role} ${status}`)).toEqual([
      'user success',
      'assistant success',
    ])
    expect(messages.at(-1)?.content).toBe(second.text)
    expect(model.asked(question)).toBe(2)
  })

  test('R20: the reader sees that an answer waits, and that it is written again', async ({
    chat,
    page,
    model,
    server,
    question,
  }) => {
    test.slow()
    const second = { text: '二度目の答えです。'.repeat(60), tokens_per_second: 400 }
    model.script(question, { text: '一度目の答えです。'.repeat(40), tokens_per_second: 400 }, second)
    const [ready, first] = model.pauses(question, 0, 60)
    // However late the page reconnects, nothing of the second answer has been written yet.
    const again = model.pause(question, 0)
    const line = (text: string) => chat.answer.getByText(text)
    await chat.open()
    await chat.ask(question)
    await expect(page.getByRole('status').filter({ hasText: '回答を作成しています' })).toHaveCount(1)
    ready?.release()
    await first?.reached
    await expect(chat.answer).toContainText('一度目の答えです。')
    await expect(line('続きを生成しています。少々お待ちください')).toBeVisible()
    await expect(
      page.getByRole('status').filter({ hasText: '続きを生成しています。少々お待ちください' }),
    ).toHaveCount(1)
    expect(
      await line('続きを生成しています。少々お待ちください').evaluate(roomFor),
      'by how much it moves the rest',
    ).toBe(0)

    await server.kill()
    await server.resume()
    await expect(line('接続が途切れたため、回答を最初から再作成しています')).toBeVisible()
    await expect(line('続きを生成しています。少々お待ちください')).toBeHidden()
    await expect(chat.answer).not.toContainText('一度目')
    first?.release()
    again.release()
    await chat.finished()
    await expect(line('回答が途切れたため')).toHaveCount(0)
    expect(await chat.copied()).toBe(second.text)
  })

  test('R18: a server that stops in order finishes its answer; new questions wait for the next server', async ({
    chat,
    page,
    model,
    server,
    account,
    question,
  }) => {
    const answer = { chars: 500, seed: 9, tokens_per_second: 200 }
    const next = `${question}そのあとの質問です。`
    model.script(question, answer)
    model.script(next, { text: '新しいサーバーの答えです。' })
    const middle = model.pause(question, 80)
    const alerts: string[] = []
    await page.exposeFunction('noteAlert', (text: string) => alerts.push(text))
    await page.addInitScript(() => {
      const look = () => {
        for (const alert of document.querySelectorAll('[role="alert"]'))
          if (alert.textContent) void (window as unknown as Notes).noteAlert(alert.textContent)
      }
      new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true })
    })
    await chat.open()
    await chat.ask(question)
    await middle.reached
    const stopped = server.drain()
    await expect.poll(() => server.ready()).toBe(false)
    middle.release()
    await stopped
    await chat.finished()
    expect(await chat.copied()).toBe(await model.text(answer))

    // The page waits for the restart however long it takes, and no longer.
    await page.route('**/v1/**', (route) => route.abort('connectionrefused'))
    await server.resume()
    const refused = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/message/stream'))
    await chat.ask(next)
    await refused
    await page.unroute('**/v1/**')
    await chat.finished()
    await expect(chat.answer).toContainText('新しいサーバーの答えです。')
    await page.reload()
    await chat.finished()
    const stored = await account.messages(await chat.threadId())
    expect(stored.map(({ content }) => content)).toEqual([
      question,
      await model.text(answer),
      next,
      '新しいサーバーの答えです。',
    ])
    expect([model.asked(next), model.asked(question)]).toEqual([1, 2])
    expect(alerts).toEqual([])
  })

  test('a failing provider leaves the partial text, the reason, and a retry', async ({
    chat,
    model,
    account,
    page,
    question,
  }) => {
    const answer = 'この答えは、途中までしか届きません。続きは、もう一度たずねると届きます。'
    model.script(question, { text: answer, fail: 'error', fail_after: 18 }, { text: answer })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await expect(chat.answer).toContainText('この答えは、途中までしか届きません。')
    await expect(chat.answer).not.toContainText('続きは')
    const stored = (await account.messages(await chat.threadId())).at(-1)
    expect(stored).toMatchObject({ status: 'failed', finish_reason: 'error', content: answer.slice(0, 18) })
    await expect(chat.answer.getByText(stored?.error?.detail ?? '-')).toBeVisible()

    await page.reload()
    await expect(chat.answer.getByText(stored?.error?.detail ?? '-')).toBeVisible()
    await chat.answer.getByRole('button', { name: 'やり直す', exact: true }).click()
    await expect(chat.answer).toContainText('もう一度たずねると届きます。')
    await chat.finished()
    await expect(chat.answers).toHaveCount(1)
    await expect(chat.answer.getByText(stored?.error?.detail ?? '-')).toBeHidden()
    expect(await chat.copied()).toBe(answer)
    expect(model.asked(question)).toBe(2)
  })

  test('a regenerated answer replaces the old one', async ({ chat, model, page, account, question }) => {
    model.script(question, { text: '最初の答えです。' }, { text: '作り直した答えです。' })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.answer.getByRole('button', { name: '回答を再生成' }).click()
    await expect(chat.answer).toContainText('作り直した答えです。')
    await chat.finished()
    await expect(chat.turns).toHaveCount(2)
    await page.reload()
    await chat.finished()
    await expect(chat.answer).toContainText('作り直した答えです。')
    await expect(chat.turns).toHaveCount(2)
    const messages = await account.messages(await chat.threadId())
    expect(messages.map(({ content }) => content)).toEqual([question, '作り直した答えです。'])
  })

  test('a question that the server refused returns to the composer', async ({ chat, context, question }) => {
    await chat.open()
    await context.setOffline(true)
    await chat.composer.fill(question)
    await chat.composer.press('Enter')
    const alert = chat.page.getByRole('alert').filter({ hasText: '送信できませんでした。' })
    await expect(alert).toBeVisible()
    await expect(chat.composer).toHaveValue(question)
    await context.setOffline(false)
    await alert.getByRole('button', { name: 'やり直す' }).click()
    await chat.finished()
    await expect(chat.questions).toHaveCount(1)
  })

  test('a thread that cannot be loaded leaves the sidebar, and is shown when the network returns', async ({
    chat,
    context,
    page,
    question,
  }) => {
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const id = await chat.threadId()
    await openSkills(page)
    const link = page.locator(`a[href$="/chat/${id}"]`)
    await expect(link).toBeVisible()
    await context.setOffline(true)
    await link.click()
    await expect(page.getByRole('heading', { level: 1, name: 'サーバーに接続できません' })).toBeVisible()
    const retry = page.getByRole('button', { name: '再読み込み' })
    await retry.click()
    await expect(retry).not.toHaveAttribute('aria-busy')
    await expect(link).toBeVisible()
    await context.setOffline(false)
    await chat.finished()
    await expect(chat.questions).toContainText(question)
  })

  test('a question sent with an expired token is asked once, with a new one', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, { text: '期限の切れた鍵でも、質問は一度だけ届きます。' })
    const problem = {
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'jwt expired',
      code: 'expired',
    }
    const retries: (string | undefined)[] = []
    await page.route('**/v1/message/stream', async (route) => {
      const marked = route.request().headers()['x-no-retry']
      retries.push(marked)
      if (marked !== undefined) return route.continue()
      return route.fulfill({ status: 401, contentType: 'application/problem+json', json: problem })
    })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await expect(chat.answer).toContainText('質問は一度だけ届きます。')
    await expect(chat.turns).toHaveCount(2)
    expect(retries).toEqual([undefined, '1'])
    expect(model.asked(question)).toBe(1)
  })
})
