import type { Locator, Page, Route, WebSocket } from '@playwright/test'
import { hold } from './support/hold'
import { openSkills } from './support/skills'
import { expect, test } from './support/test'

/** The thread list of a page. */
const threads = (page: Page): Locator => page.getByRole('navigation', { name: 'チャット' })

const entry = (page: Page, name: string | RegExp): Locator => threads(page).getByRole('link', { name })

async function choose(page: Page, title: string, action: string): Promise<void> {
  await entry(page, title).hover()
  await threads(page)
    .getByRole('button', { name: `「${title}」の操作` })
    .click()
  await page.getByRole('menuitem', { name: action }).click()
}

/** Waits until a page's live connection is ready. Call it before the page is opened. */
async function listens(page: Page): Promise<WebSocket> {
  const line = await page.waitForEvent('websocket', (socket) => socket.url().endsWith('/v1/live'))
  await told(line, '"ready"')
  return line
}

/** Opens the skills on a page and waits for its live connection. */
async function openListening(page: Page): Promise<WebSocket> {
  const listening = listens(page)
  await openSkills(page)
  return listening
}

/** Waits for an event from the server. */
async function told(line: WebSocket, what: string): Promise<void> {
  await line.waitForEvent('framereceived', ({ payload }) => payload.toString().includes(what))
}

/** The next request to a URL. Its response can be read before it is forwarded. */
function nextCall(page: Page, url: string): Promise<Route> {
  return new Promise((resolve) => void page.route(url, resolve, { times: 1 }))
}

/** The number of live connections that these pages have open. */
function watchLines(pages: readonly Page[]): () => number {
  const lines: { page: Page; line: WebSocket }[] = []
  for (const page of pages) page.on('websocket', (line) => lines.push({ page, line }))
  return () =>
    lines.filter(({ page, line }) => line.url().endsWith('/v1/live') && !line.isClosed() && !page.isClosed())
      .length
}

/**
 * Hides a tab or shows it again. The tests' browser considers all of its tabs visible, so this is simulated in the
 * page.
 */
async function hide(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
      document.dispatchEvent(new Event('visibilitychange'))
    },
    hidden ? 'hidden' : 'visible',
  )
}

/** The number of answer streams that a page has closed before their end. */
function streamsClosed(page: Page): () => number {
  let closed = 0
  page.on('requestfailed', (request) => {
    if (request.url().endsWith('/stream')) closed++
  })
  return () => closed
}

test.describe('two devices', () => {
  test('show the same threads: created, renamed, deleted', async ({ page, device, account }) => {
    await account.reset()
    const other = await device()
    await openSkills(page)
    await openSkills(other)
    await expect(threads(other).getByText('チャットはまだありません。')).toBeVisible()

    await account.newThread('汎用チャット', '引っ越しの手順')
    await account.newThread('汎用チャット', '会議の準備')
    for (const each of [page, other])
      await expect(threads(each).getByRole('link')).toHaveText(['会議の準備', '引っ越しの手順'])

    await choose(page, '引っ越しの手順', '名前を変更')
    await page.getByRole('textbox', { name: 'チャット名' }).fill('事務所の引っ越し')
    await page.keyboard.press('Enter')
    await expect(entry(other, '事務所の引っ越し')).toBeVisible()

    await choose(other, '会議の準備', '削除')
    await other.reload()
    await expect(threads(page).getByRole('link')).toHaveText(['事務所の引っ越し'])
  })

  test('show that an answer is running, and one reports its end', async ({
    chat,
    device,
    account,
    model,
    question,
  }) => {
    await account.reset()
    model.script(question, { chars: 200, title: '夏の行事' })
    const middle = model.pause(question, 20)
    const other = await device()
    await openListening(other)
    await chat.open()
    await chat.ask(question)
    await middle.reached
    await expect(entry(other, '夏の行事')).toContainText('回答を作成しています')
    middle.release()
    const toast = other.getByRole('status').filter({ hasText: '『夏の行事』の回答が完了しました。' })
    await expect(toast).toBeVisible()
    await expect(threads(other).getByRole('link')).not.toContainText('回答を作成しています')
    // No notice while the thread is on the screen.
    await chat.finished()
    await expect(chat.page.getByText('の回答が完了しました')).toHaveCount(0)

    await toast.getByRole('button', { name: '開く' }).click()
    const there = chat.in(other)
    await there.finished()
    expect(await there.threadId()).toBe(await chat.threadId())
  })

  test('show the question as the title until one is generated', async ({
    chat,
    device,
    account,
    model,
    question,
  }) => {
    await account.reset()
    model.script(question, { text: '答えは、はい、です。', title: '秋の行事' })
    const making = model.pauseTitle(question)
    await chat.open()
    await chat.ask(question)
    await making.reached
    await chat.finished()
    await expect(chat.stop).toBeHidden()
    const other = await device()
    const listening = listens(other)
    await other.goto(`/chat/${await chat.threadId()}`)
    await listening
    const pages = [chat.page, other]
    for (const page of pages) {
      await expect(entry(page, question.slice(0, 19))).toBeVisible()
      await expect(page.getByRole('heading', { level: 1, name: question.slice(0, 19) })).toBeVisible()
    }
    await chat.ask('次の質問です。')
    await chat.finished()
    making.release()
    for (const page of pages) {
      await expect(entry(page, '秋の行事')).toBeVisible()
      await expect(page.getByRole('heading', { level: 1, name: '秋の行事' })).toBeVisible()
    }
    expect(model.asked(question)).toBe(1)
  })

  test('report a failed answer in a thread that is not open', async ({ page, account, model, question }) => {
    await account.reset()
    const thread = await account.newThread('汎用チャット', '秋の研修')
    model.script(question, { text: 'この答えは途中で終わります。', fail: 'error', fail_after: 5 })
    await openListening(page) // An answer that ends earlier has no notice.
    await expect(entry(page, '秋の研修')).toBeVisible()
    await account.ask(thread.id, question)
    await expect(
      page.getByRole('alert').filter({ hasText: '『秋の研修』の回答を作成できませんでした。' }),
    ).toBeVisible()
  })

  test('with a thread open show questions and answers of the other at once', async ({
    chat,
    device,
    account,
    model,
    question,
  }) => {
    const thread = await account.newThread('汎用チャット', '二つの画面')
    const answer = { chars: 900, seed: 5, tokens_per_second: 200 }
    model.script(question, answer)
    const middle = model.pause(question, 120)
    const path = `/home/skill/${thread.skill.id}/chat/${thread.id}`
    const other = chat.in(await device())
    await other.page.goto(path)
    await expect(other.composer).toBeVisible()
    await chat.page.goto(path)
    await chat.ask(question)
    await middle.reached
    await expect(other.questions.last()).toContainText(question)
    await expect(other.answer).toHaveAttribute('aria-busy', 'true')
    await expect.poll(() => other.shown()).toBeGreaterThan(100)
    middle.release()
    for (const place of [chat, other]) await place.finished()
    expect(await other.copied()).toBe(await model.text(answer))
    expect(model.asked(question)).toBe(1)

    // Ratings and regenerated answers on one page appear on the other.
    await chat.answer.getByRole('button', { name: '良い回答', exact: true }).click()
    await expect(other.answer.getByRole('button', { name: '良い回答', exact: true })).toHaveAttribute(
      'aria-pressed',
      'true',
    )
    model.script(question, { text: '作り直した答えです。' })
    await chat.answer.getByRole('button', { name: '回答を再生成' }).click()
    await expect(other.answer).toContainText('作り直した答えです。')
    await expect(other.turns).toHaveCount(2)
  })

  test('with a thread loading show new questions of the other', async ({
    page,
    chat,
    account,
    model,
    question,
  }) => {
    await account.reset()
    const thread = await account.newThread('汎用チャット', '開く途中の話')
    model.script(question, { text: '開く前の答えです。' })
    const line = await openListening(page)
    const asked = nextCall(page, '**/v1/message?*')
    await entry(page, '開く途中の話').click()
    const route = await asked
    const before = await route.fetch()
    const ended = told(line, '"success"')
    await account.ask(thread.id, question)
    await ended
    await route.fulfill({ response: before })
    await expect(chat.questions.last()).toContainText(question)
    await expect(chat.answer).toContainText('開く前の答えです。')
  })

  test('show which notices have been read', async ({ page, device, server }) => {
    await server.publish('読まれるお知らせ', '本文です。')
    const other = await device()
    for (const each of [page, other]) {
      await openSkills(each)
      await expect(each.getByRole('button', { name: /^お知らせ、未読/ })).toBeVisible()
    }
    await page.getByRole('button', { name: /^お知らせ、未読/ }).click()
    await page.getByRole('button', { name: 'すべて既読にする' }).click()
    await expect(other.getByRole('button', { name: 'お知らせ', exact: true })).toBeVisible()
    await expect(other.getByRole('region', { name: 'お知らせ' })).toHaveCount(0)
  })

  test('show a notice as soon as it is published', async ({ page, device, server }) => {
    const title = `点検のお知らせ ${crypto.randomUUID().slice(0, 8)}`
    const tabs = [page, await device()]
    for (const tab of tabs) {
      await openSkills(tab)
      await expect(tab.getByRole('button', { name: /^お知らせ($|、未読)/ })).toBeVisible()
    }
    await server.publish(title, '本文です。')
    for (const tab of tabs) {
      await expect(tab.getByRole('button', { name: /^お知らせ、未読/ })).toBeVisible()
      await tab.getByRole('button', { name: /^お知らせ、未読/ }).click()
      await expect(tab.getByRole('heading', { name: title }).first()).toBeVisible()
    }
  })

  test('show a notice that is published while their list is loading', async ({ page, server }) => {
    const title = `急なお知らせ ${crypto.randomUUID().slice(0, 8)}`
    const listed = nextCall(page, '**/v1/notification?*')
    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes('/v1/notification?')) asked++
    })
    const listening = listens(page)
    await openSkills(page)
    const route = await listed
    const before = await route.fetch()
    await listening
    await server.publish(title, '本文です。')
    await expect.poll(() => asked).toBeGreaterThan(1)
    await route.fulfill({ response: before })
    await page.getByRole('button', { name: /^お知らせ、未読/ }).click()
    await expect(page.getByRole('heading', { name: title }).first()).toBeVisible()
  })

  test('leave an open thread that the other has deleted, and keep the draft', async ({
    chat,
    device,
    account,
  }) => {
    await account.reset()
    const thread = await account.newThread('汎用チャット', '消えるチャット')
    const other = chat.in(await device())
    await other.page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
    await other.composer.fill('書きかけの文章')
    await account.call('DELETE', `/v1/thread/${thread.id}`)
    await expect(other.page.getByText('このチャットは削除されました。')).toBeVisible()
    await expect(other.page).toHaveURL(new RegExp(`/home/skill/${thread.skill.id}$`))
    await expect(other.composer).toHaveValue('書きかけの文章')
    await expect(threads(other.page).getByText('チャットはまだありません。')).toBeVisible()
  })
})

test.describe('the tabs of a browser', () => {
  test('share one connection, which another tab takes over', async ({ context, account }) => {
    await account.reset()
    const tabs = await Promise.all([1, 2, 3].map(() => context.newPage()))
    const lines = watchLines(tabs)
    for (const tab of tabs) await openSkills(tab)
    await account.newThread('汎用チャット', '一本の線')
    for (const tab of tabs) await expect(entry(tab, '一本の線')).toBeVisible()
    expect(lines()).toBe(1)

    const left = tabs.slice(1)
    await tabs[0]?.close()
    await expect.poll(lines).toBe(1)
    await account.newThread('汎用チャット', '次の線')
    for (const tab of left) await expect(entry(tab, '次の線')).toBeVisible()
    expect(lines()).toBe(1)
  })

  test('are up to date after a restart of the server', async ({ context, device, account, server }) => {
    test.slow()
    await account.reset()
    const thread = await account.newThread('汎用チャット', '前からある話')
    const tabs = [await context.newPage(), await context.newPage(), await device()]
    for (const tab of tabs) {
      await openSkills(tab)
      await expect(entry(tab, '前からある話')).toBeVisible()
    }
    await server.kill()
    await server.resume()
    await account.call('PUT', `/v1/thread/${thread.id}`, { title: '再開後の話' })
    await account.newThread('汎用チャット', '新しい話')
    // The longer the server is down, the less often the page retries: up to half a minute apart.
    for (const tab of tabs)
      await expect(threads(tab).getByRole('link')).toHaveText(['新しい話', '再開後の話'], { timeout: 90_000 })
    await account.newThread('汎用チャット', 'その後の話')
    for (const tab of tabs) await expect(entry(tab, 'その後の話')).toBeVisible()
  })

  test('R17: seven tabs ask at once, and all see their answers', async ({
    chat,
    context,
    account,
    model,
    question,
  }) => {
    test.slow()
    await account.reset()
    const places = []
    for (let i = 0; i < 7; i++) places.push(chat.in(await context.newPage()))
    for (const place of places) await place.open()
    const questions = places.map((_, i) => `${question}${'①②③④⑤⑥⑦'[i]}`)
    const answers = questions.map((_, i) => ({ chars: 400, seed: i, tokens_per_second: 400 }))
    const pauses = questions.map((each) => model.pause(each, 60))
    for (const [i, each] of questions.entries()) model.script(each, answers[i] ?? {})
    for (const [i, place] of places.entries()) await place.ask(questions[i] ?? '')
    // All answers are running, including those without a stream.
    for (const pause of pauses) await pause.reached

    // Ordinary calls still have a connection.
    const eighth = await context.newPage()
    await openSkills(eighth)
    await expect(threads(eighth).getByRole('link')).toHaveCount(7)
    await eighth.close()

    for (const pause of pauses) pause.release()
    for (const [i, place] of places.entries()) {
      const threadId = await place.threadId()
      const last = async () => (await account.messages(threadId)).at(-1)
      await expect.poll(async () => (await last())?.status, { timeout: 60_000 }).toBe('success')
      await place.finished()
      const stored = await last()
      expect(stored?.content).toBe(await model.text(answers[i] ?? {}))
      expect(await place.copied()).toBe(stored?.content)
      expect(model.asked(questions[i] ?? '')).toBe(1)
    }
  })
})

test('a hidden tab releases its stream for a visible one, and has its whole answer when shown again', async ({
  chat,
  context,
  account,
  model,
  question,
}) => {
  test.slow()
  await account.reset()
  const places = [chat]
  for (let i = 1; i < 5; i++) places.push(chat.in(await context.newPage()))
  const asks = places.map((place, i) => {
    const text = `${question}${'①②③④⑤'[i]}`
    const answer = { chars: 500, seed: i, tokens_per_second: 300 }
    model.script(text, answer)
    return { place, text, answer, middle: model.pause(text, 80) }
  })
  const [first, ...others] = asks
  const last = asks.at(-1)
  if (first === undefined || last === undefined) throw new Error('there are no tabs')
  const given = streamsClosed(first.place.page)
  // Four tabs hold the four slots of the browser.
  for (const { place, text, middle } of asks.slice(0, 4)) {
    await place.open()
    await place.ask(text)
    await middle.reached
    await expect.poll(() => place.shown()).toBeGreaterThan(50)
  }
  await hide(first.place.page, true)
  await last.place.open()
  await last.place.ask(last.text)
  await last.middle.reached
  await expect.poll(() => last.place.shown()).toBeGreaterThan(50)
  await expect.poll(given).toBe(1)

  // When it is shown again, it waits for a slot and resumes. The stored answer must not hide an error.
  const records = await hold(first.place.page, /\/v1\/message\?.*limit=2(&|$)/)
  await hide(first.place.page, false)
  await expect(first.place.answer).toHaveAttribute('aria-busy', 'true')
  expect(await first.place.shown()).toBeGreaterThan(50)
  const resumed = first.place.page.waitForResponse((response) =>
    /\/message\/[^/]+\/stream$/.test(response.url()),
  )
  for (const { middle } of others) middle.release()
  for (const { place } of others) await place.finished()
  await resumed
  first.middle.release()
  await first.place.finished()
  expect(await first.place.copied()).toBe(await model.text(first.answer))
  records.release()
  expect(model.asked(first.text)).toBe(1)
})

test.describe('an overloaded server', () => {
  const busy = (seconds: number) => ({
    status: 503,
    headers: { 'Retry-After': String(seconds) },
    contentType: 'application/problem+json',
    json: {
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      code: 'overloaded',
      detail: '混雑',
    },
  })

  test('is asked again by itself, and the question is announced once', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, { text: 'お待たせしました。' })
    let refusals = 0
    await page.route('**/v1/message/stream', (route) =>
      refusals++ === 0 ? route.fulfill(busy(9)) : route.continue(),
    )
    await chat.open()
    await chat.ask(question)
    await expect(page.getByText(/サーバーが一時的に応答できません。\d秒後に自動で再送します。/)).toBeVisible()
    await chat.finished()
    await expect(chat.answer).toContainText('お待たせしました。')
    await expect(page.getByText('サーバーが一時的に応答できません')).toHaveCount(0)
    expect(model.asked(question)).toBe(1)
  })

  test('that requests too long a wait returns the question, and leaves no thread without one', async ({
    chat,
    page,
    account,
    model,
    question,
  }) => {
    await account.reset()
    model.script(question, { text: 'お待たせしました。' })
    let refusals = 0
    await page.route('**/v1/message/stream', (route) =>
      refusals++ === 0 ? route.fulfill(busy(60)) : route.continue(),
    )
    await chat.open()
    await chat.composer.fill(question)
    await chat.composer.press('Enter')
    const alert = page.getByRole('alert').filter({ hasText: 'ただいま混み合っています。60秒ほど待ってから' })
    await expect(alert).toBeVisible()
    await expect(page).toHaveURL(/\/home\/skill\/[^/]+$/)
    await expect(chat.composer).toHaveValue(question)
    await expect(threads(page).getByText('チャットはまだありません。')).toBeVisible()
    await expect.poll(() => account.threads()).toEqual([])
    await alert.getByRole('button', { name: 'やり直す' }).click()
    await chat.finished()
    await expect(chat.questions).toHaveCount(1)
    await expect(chat.composer).toHaveValue('')
    await expect(page).toHaveURL(new RegExp(`/chat/${(await account.threads())[0]?.id}$`))
    await expect(threads(page).getByRole('link')).toHaveCount(1)
  })
})
