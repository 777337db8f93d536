import type { Page } from '@playwright/test'
import { InputMethod } from '../../web/e2e/support/ime'
import { breaches, overflow } from '../../web/e2e/support/inspect'
import { Line } from '../../web/e2e/support/line'
import { type Browser, expect, test } from './browser'

const slow = { chars: 900, seed: 3, tokens_per_second: 120, title: '改定のお知らせ' }

const answerOf = (panel: Page) => panel.locator('[data-answer]').last()
const shown = async (panel: Page) =>
  (await answerOf(panel).locator('> div').first().textContent())?.length ?? 0

/** Copies the last answer, as assembled in the panel. */
async function copied(panel: Page): Promise<string> {
  await answerOf(panel).getByRole('button', { name: '回答をコピー' }).click()
  await expect(answerOf(panel).getByText('コピーしました')).toBeVisible()
  return panel.evaluate(() => navigator.clipboard.readText())
}

async function finished(panel: Page): Promise<void> {
  await expect(answerOf(panel)).not.toHaveAttribute('aria-busy', 'true')
  await expect(answerOf(panel).getByRole('button', { name: '回答をコピー' })).toBeVisible()
}

/** Presses the toolbar's button, requests a summary and sends the displayed text. */
async function summarize(browser: Browser, url: string): Promise<{ panel: Page; page: Page }> {
  const page = await browser.open(url)
  const panel = await browser.press(page)
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  return { panel, page }
}

test('the toolbar opens the panel, which shows the text to send, summarizes the page and continues in the app', async ({
  browserWith: browser,
  site,
  server,
  account,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: '在宅勤務の対象が**全社員**に広がります。' })
  model.script('申請の期限はいつですか', { text: '前月の20日までです。' })
  const page = await browser.open(`${site.url}/notice#top`)
  const panel = await browser.press(page)
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  const review = panel.getByRole('region', { name: '送信内容を確認' })
  await expect(review).toContainText('就業規則改定のお知らせ')
  await review.getByText('送信する文章を表示').click()
  const material = (await review.locator('pre').textContent()) ?? ''
  expect(material).toContain('在宅勤務を希望する社員は、前月の20日までに')
  expect(material).toContain('| 正社員 | 15日 |')
  expect(material, 'a closed shadow root').toContain('人事部（内線1234）')
  expect(material).not.toMatch(/表示されません|ニュース一覧|例示株式会社/)
  await expect(review.locator('dd').nth(1)).toHaveText([...material].length.toLocaleString('ja'))
  await expect(review.locator('dd')).toHaveCount(2)
  await review.getByRole('button', { name: '送信', exact: true }).click()
  await finished(panel)
  expect(await copied(panel)).toBe('在宅勤務の対象が**全社員**に広がります。')

  await panel.getByLabel('質問').fill('申請の期限はいつですか')
  await panel.getByLabel('質問').press('Enter')
  await expect(panel.locator('[data-answer]')).toHaveCount(2)
  await finished(panel)
  expect(await copied(panel)).toBe('前月の20日までです。')

  const [thread] = await account.threads()
  const messages = await account.messages(thread?.id ?? '')
  expect(messages.map(({ content }) => content)).toEqual([
    '「就業規則改定のお知らせ」を要約',
    '在宅勤務の対象が**全社員**に広がります。',
    '申請の期限はいつですか',
    '前月の20日までです。',
  ])
  const opened = browser.context.waitForEvent('page')
  await panel.getByRole('button', { name: 'Webで続ける' }).click()
  const app = await opened
  expect(app.url()).toBe(`${server.url}/chat/${thread?.id}`)
})

test('a question is asked about a page and the files of a project, and its citations open both', async ({
  browserWith: browser,
  site,
  server,
  account,
  model,
}) => {
  model.script('出張の日当はいくらですか', { text: '対象は全社員です [1]。日当は三千円です [2]。' })
  const created = await account.call('POST', '/v1/project', { request_id: crypto.randomUUID(), name: '経理' })
  const project = (await created.json()) as { id: string }
  const file = new FormData()
  file.append('file', new Blob(['出張の日当は三千円とする。']), '旅費規程.txt')
  await fetch(`${server.url}/v1/data-source/file?project_id=${project.id}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.idToken}` },
    body: file,
  })
  const files = async () => {
    const response = await account.call('GET', `/v1/project/${project.id}/data-source`)
    return ((await response.json()) as { items: { id: string; status: string }[] }).items
  }
  await expect.poll(async () => (await files())[0]?.status).toBe('success')
  const page = await browser.open(`${site.url}/notice`)
  const panel = await browser.press(page)
  await panel.getByLabel('プロジェクト').selectOption({ label: '経理' })
  await panel.getByLabel('質問').fill('出張の日当はいくらですか')
  await panel.getByLabel('質問').press('Enter')
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await finished(panel)
  const [thread] = await account.threads()
  expect(thread).toMatchObject({ project: { name: '経理' }, visibility: 'private' })
  const sources = panel.getByRole('region', { name: '出典' })
  const opened = new RegExp(`^${server.url}/chat/${thread?.id}\\?source=${(await files())[0]?.id}&passage=`)
  for (const box of [sources, answerOf(panel).locator('p')]) {
    await expect(box.getByRole('link').first()).toHaveAttribute('href', `${site.url}/notice`)
    await expect(box.getByRole('link').last()).toHaveAttribute('href', opened)
  }
  await expect(sources).toContainText('旅費規程.txt')
  await expect(panel.getByText('経理', { exact: true })).toBeVisible()
  expect(await overflow(panel)).toEqual({ by: 0, what: [] })
  expect(await breaches(panel)).toEqual([])

  await panel.getByRole('button', { name: '新しいチャット' }).click()
  await expect(panel.getByLabel('プロジェクト')).toHaveValue(project.id)
  await account.call('DELETE', `/v1/project/${project.id}`)
  const listed = panel.waitForResponse((response) => response.url().includes('/v1/project?'))
  await panel.reload()
  await (await listed).finished()
  await expect(panel.getByLabel('プロジェクト')).toHaveCount(0)
})

const wide = `# 幅の広い回答

\`\`\`ts
const address = '${'0123456789'.repeat(30)}'
\`\`\`

| ${Array.from({ length: 12 }, (_, i) => `長い見出し${i + 1}`).join(' | ')} |
|${' --- |'.repeat(12)}
| ${Array.from({ length: 12 }, (_, i) => `値${i + 1}の内容`).join(' | ')} |

$$
${Array.from({ length: 30 }, (_, i) => `x_{${i}}^2`).join(' + ')} = 0
$$

文中の$${Array.from({ length: 30 }, (_, i) => `y_{${i}}`).join('+')}$と、https://example.jp/${'path/'.repeat(60)} と
\`${'inline'.repeat(40)}\`です。
`

test('wide code, tables, formulas and URLs scroll in their own boxes, not with the panel', async ({
  browserWith: browser,
  site,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: wide })
  model.script('https://example.jp/', { text: wide })
  const { panel } = await summarize(browser, `${site.url}/notice`)
  await finished(panel)
  await panel.getByLabel('質問').fill(`https://example.jp/${'question/'.repeat(60)}`)
  await panel.getByLabel('質問').press('Enter')
  await expect(panel.locator('[data-answer]')).toHaveCount(2)
  await finished(panel)
  await expect(panel.locator('.katex-display')).toHaveCount(2)
  for (const width of [320, 360, 400]) {
    await panel.setViewportSize({ width, height: 700 })
    expect(await overflow(panel), `${width} px`).toEqual({ by: 0, what: [] })
    const beyond = await answerOf(panel).evaluate((answer) =>
      ['pre', 'table', '.katex-display'].filter((name) => {
        // The content is reached by scrolling the element or a box between it and the answer.
        for (let box = answer.querySelector(name); box !== null && box !== answer; box = box.parentElement)
          if (box.scrollWidth > box.clientWidth && /auto|scroll/.test(getComputedStyle(box).overflowX))
            return false
        return true
      }),
    )
    expect(beyond, `${width} px: does not scroll`).toEqual([])
  }
})

test('a page of the browser is refused with the reason after the button is pressed', async ({
  browserWith: browser,
  site,
}) => {
  const page = await browser.open('chrome://version/')
  const panel = await browser.press(page)
  await expect(
    panel.getByText(/読み取りを許可していません|設定ページや新しいタブは読み取れません/),
  ).toBeVisible()
  await expect(panel.getByText(/ボタンを(もう一度)?押してください/)).toHaveCount(0)
  // The extension has not been used on the other page in the same tab.
  await page.goto(`${site.url}/notice`)
  await expect(panel.getByText(/ボタンを押してください/)).toBeVisible()
})

test('a selection is explained whole, and the answer can be rated and regenerated', async ({
  browserWith: browser,
  site,
  account,
  model,
}) => {
  model.script('やさしく説明してください', { text: '一つ目の説明です。' }, { text: '二つ目の説明です。' })
  const page = await browser.open(`${site.url}/notice`)
  await page.evaluate(() => getSelection()?.selectAllChildren(document.querySelector('article p') as Element))
  const panel = await browser.press(page)
  await panel.getByRole('button', { name: '選択した文章をやさしく説明' }).click()
  await panel.getByText('送信する文章を表示').click()
  await expect(panel.locator('pre')).toHaveText(
    '2027年4月1日から、在宅勤務の対象を全社員に広げます。これまでは本社の管理部門だけが対象でした。',
  )
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await finished(panel)
  await panel.getByRole('button', { name: '良い回答' }).click()
  await expect(panel.getByRole('button', { name: '良い回答' })).toHaveAttribute('aria-pressed', 'true')
  await panel.getByRole('button', { name: '回答を再生成' }).click()
  await expect(answerOf(panel)).toContainText('二つ目の説明です。')
  await finished(panel)
  const [thread] = await account.threads()
  const messages = await account.messages(thread?.id ?? '')
  expect(messages.map(({ content }) => content)).toEqual([
    '「2027年4月1日から、在宅勤務の対象を全社員に広げます。これまでは本社の管理部門だけが対象でした。」をやさしく説明',
    '二つ目の説明です。',
  ])
})

test('R87: closing the panel, stopping the worker, losing the network and killing the server keep the text', async ({
  browserWith: browser,
  site,
  server,
  account,
  model,
}) => {
  const line = await Line.start(server.url)
  await browser.signIn(line.url, account)
  model.script('就業規則改定のお知らせ', slow)
  const whole = await model.text(slow)
  const steps = model.pauses('就業規則改定のお知らせ', 40, 90, 140)
  const { panel: first, page } = await summarize(browser, `${site.url}/notice`)
  await steps[0]?.reached
  await expect.poll(() => shown(first)).toBeGreaterThan(20)
  const before = await shown(first)

  // The panel is closed and the worker stopped during the answer.
  await first.close()
  await (await browser.worker()).evaluate(() => {}).catch(() => {})
  const { targetInfos } = await browser.session.send('Target.getTargets')
  for (const { type, targetId } of targetInfos)
    if (type === 'service_worker')
      await browser.session.send('Target.closeTarget', { targetId }).catch(() => {})
  steps[0]?.release()
  await steps[1]?.reached
  const panel = await browser.press(page)
  await expect.poll(() => shown(panel)).toBeGreaterThan(before)

  // The network is lost and returns.
  line.cut()
  steps[1]?.release()
  await steps[2]?.reached
  await expect(panel.getByText('接続し直しています')).toBeVisible()
  line.mend()
  await expect(panel.getByText('接続し直しています')).toBeHidden()

  // The server is killed; its next start writes the answer again.
  await server.kill()
  steps[2]?.release()
  await server.resume()
  await finished(panel)
  expect(await copied(panel)).toBe(whole)
  const [thread] = await account.threads()
  expect((await account.messages(thread?.id ?? ''))[1]?.content).toBe(whole)
  await line.stop()
})

test('an answer that takes many tokens begins after the user accepts them', async ({
  browserWith: browser,
  site,
  model,
}) => {
  model.script('就業規則改定のお知らせ', { text: '対象が広がります。' })
  const asked: object[] = []
  await browser.context.route('**/chat/completion/stream', async (route) => {
    asked.push(route.request().postDataJSON())
    if (asked.length > 1) return route.continue()
    await route.fulfill({
      status: 409,
      contentType: 'application/problem+json',
      headers: { 'access-control-allow-origin': '*' },
      body: JSON.stringify({ code: 'confirmation_required', detail: '確認', estimated_tokens: 183_400 }),
    })
  })
  const { panel } = await summarize(browser, `${site.url}/notice`)
  await expect(answerOf(panel)).toContainText('約180,000トークンを使用します。続けますか？')
  expect(await breaches(panel)).toEqual([])
  await panel.getByRole('button', { name: '続ける', exact: true }).click()
  await finished(panel)
  expect(await copied(panel)).toBe('対象が広がります。')
  expect(asked).toEqual([asked[0], { ...asked[0], accept_tokens: 183_400 }])
})

test('a stop keeps the partial text, and a tab that navigates keeps its conversation', async ({
  browserWith: browser,
  site,
  account,
  model,
}) => {
  model.script('別のお知らせ', slow)
  const pause = model.pause('別のお知らせ', 40)
  const { panel, page } = await summarize(browser, `${site.url}/other`)
  await pause.reached
  await expect.poll(() => shown(panel)).toBeGreaterThan(20)
  await panel.getByRole('button', { name: '回答を停止' }).click()
  await expect(panel.getByText('回答を停止しました')).toBeVisible()
  const part = await copied(panel)
  const [thread] = await account.threads()
  expect((await account.messages(thread?.id ?? ''))[1]).toMatchObject({
    content: part,
    finish_reason: 'stopped',
  })

  await page.goto(`${site.url}/notice`)
  await expect(panel.getByText(/別のページに移動しました/)).toBeVisible()
  await expect(answerOf(panel)).toBeVisible()
  await panel.getByRole('button', { name: 'このページで始める' }).click()
  await expect(panel.getByRole('button', { name: 'このページを要約' })).toBeVisible()
  await page.goto(`${site.url}/other`)
  await expect(answerOf(panel)).toBeVisible()
})

test('unreadable parts are reported, and omitted parts are counted', async ({
  browserWith: browser,
  site,
}) => {
  const page = await browser.open(`${site.url}/empty`)
  const panel = await browser.press(page)
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  await expect(panel.getByRole('alert')).toHaveText('このページには読み取れる文章がありません。')
  await page.goto(`${site.url}/long`)
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  const numbers = panel.locator('dd')
  await expect(numbers.nth(1)).toHaveText('300,000')
  expect(Number((await numbers.nth(2).textContent())?.replaceAll(',', ''))).toBeGreaterThan(100_000)
  await expect(panel.getByText(/上限の300,000文字を超えた末尾は送信しません/)).toBeVisible()
  await panel.getByRole('button', { name: 'キャンセル' }).click()
  await page.goto('chrome://version')
  await expect(panel.getByText(/ブラウザーの設定ページ|ツールバーのTsumugi/)).toBeVisible()
})

test('the Enter of a conversion does not send, the panel fits 320 px, and is accessible', async ({
  browserWith: browser,
  site,
  model,
}) => {
  model.script('就業規則改定のお知らせ', {
    text: '# 見出し\n\n- 項目\n\n| 列 | 値 |\n|---|---|\n| あ | い |\n',
  })
  const { panel } = await summarize(browser, `${site.url}/notice`)
  await finished(panel)
  await panel.setViewportSize({ width: 320, height: 700 })
  const field = panel.getByLabel('質問')
  const ime = await InputMethod.attach(panel)
  await field.focus()
  await ime.begin(field, 'し', 'しめきりは')
  await ime.processedEnter()
  await ime.plainEnter()
  await ime.confirm('締め切りは')
  await expect(field).toHaveValue('締め切りは')
  await expect(panel.locator('[data-answer]')).toHaveCount(1)
  expect(await overflow(panel)).toEqual({ by: 0, what: [] })
  for (const colorScheme of ['light', 'dark'] as const) {
    await panel.emulateMedia({ colorScheme })
    expect(await breaches(panel)).toEqual([])
  }
})

test('without a server, a session or a network, the panel shows the next step', async ({
  browserWith: browser,
  site,
  server,
}) => {
  await browser.withoutServer()
  const settings = await browser.extensionPage('options.html')
  await settings.evaluate(() => chrome.storage.local.clear())
  const page = await browser.open(`${site.url}/notice`)
  const panel = await browser.press(page)
  await expect(panel.getByRole('heading', { name: 'サーバーを設定してください' })).toBeVisible()
  await settings.reload()
  await settings.getByLabel('サーバーのアドレス').fill('ftp://どこか')
  await settings.getByRole('button', { name: '保存する' }).click()
  await expect(settings.getByText('https:// で始まるアドレスを入力してください。')).toBeVisible()
  await settings.getByLabel('サーバーのアドレス').fill(site.url)
  await settings.getByRole('button', { name: '保存する' }).click()
  await expect(settings.getByText(/接続できませんでした|見つかりませんでした/)).toBeVisible()
  await settings.getByLabel('サーバーのアドレス').fill(server.url.replace('http://', ''))
  await settings.getByRole('button', { name: '保存する' }).click()
  await expect(settings.getByText('保存しました')).toBeVisible()
  await expect(settings.getByLabel('サーバーのアドレス')).toHaveValue(server.url)
  await expect(panel.getByRole('heading', { name: 'ログインしてください' })).toBeVisible()
  expect(await breaches(settings)).toEqual([])
  const grant = {
    origin: server.url,
    accessToken: 'nobody',
    refreshToken: '',
    expiresAt: Date.now() + 3_600_000,
  }
  await settings.evaluate((values) => chrome.storage.local.set(values), { grant })
  await expect(panel.getByRole('heading', { name: 'ログアウトされました' })).toBeVisible()
})
