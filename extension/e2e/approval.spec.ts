import type { Page } from '@playwright/test'
import type { Account } from '../../web/e2e/support/account'
import { startAsking } from '../../web/e2e/support/asking'
import { breaches, overflow } from '../../web/e2e/support/inspect'
import type { Model } from '../../web/e2e/support/model'
import type { Tsumugi } from '../../web/e2e/support/tsumugi'
import type { ToolApproval } from '../../web/src/lib/api'
import { type Browser, test as base, expect } from './browser'

const test = base.extend<object, { server: Tsumugi }>({
  server: [
    async ({ model }, use) => {
      const server = await startAsking(model)
      await use(server)
      await server.stop()
    },
    { scope: 'worker', timeout: 600_000 },
  ],
})

const answerOf = (panel: Page) => panel.locator('[data-answer]').last()
const card = (panel: Page, name: string) => panel.getByRole('region', { name, exact: true })
const waiting = '計算の実行を承認しますか？'

/**
 * Asks a question in the panel. The skills of the extension have no tools, so the question is sent to a thread with a
 * skill that has one, which the model calls. Returns the panel, its page, and the id of the thread.
 */
async function ask(
  browser: Browser,
  account: Account,
  model: Model,
  server: Tsumugi,
  site: { readonly url: string },
  question: string,
): Promise<{ panel: Page; page: Page; threadId: string }> {
  const { items } = (await (await account.call('GET', '/v1/category?all=true')).json()) as {
    items: { id: string }[]
  }
  const name = `計算係${crypto.randomUUID().slice(0, 6)}`
  const content = {
    name,
    description: '金額を計算します。',
    icon: 'report',
    category_id: items[0]?.id,
    prompt: '金額を計算する。',
    tools: ['calculate'],
  }
  await account.call('POST', '/v1/skill', { request_id: crypto.randomUUID(), audience: 'self', content })
  const { id: threadId } = await account.newThread(name)
  model.script(question, {
    text: '合計は320万円です。',
    tool_calls: [[{ name: 'calculate', arguments: JSON.stringify({ expression: '1,200千円 + 2百万円' }) }]],
  })
  await browser.context.route('**/chat/completion/stream', (route) => {
    const { request_id } = route.request().postDataJSON() as { request_id: string }
    return route.continue({
      url: `${server.url}/v1/message/stream`,
      postData: JSON.stringify({ request_id, thread_id: threadId, content: question }),
    })
  })
  const page = await browser.open(`${site.url}/notice`)
  const panel = await browser.press(page)
  await panel.getByLabel('質問').fill(question)
  await panel.getByLabel('質問').press('Enter')
  const review = panel.getByRole('region', { name: '送信内容を確認' })
  await review.getByRole('button', { name: '送信', exact: true }).click()
  return { panel, page, threadId }
}

async function finished(panel: Page): Promise<void> {
  await expect(answerOf(panel).getByRole('button', { name: '回答をコピー' })).toBeVisible()
  await expect(answerOf(panel)).toContainText('合計は320万円です。')
}

async function expectReadable(panel: Page): Promise<void> {
  await panel.setViewportSize({ width: 320, height: 700 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await panel.emulateMedia({ colorScheme })
    expect(await breaches(panel)).toEqual([])
  }
  expect(await overflow(panel)).toEqual({ by: 0, what: [] })
}

test('a call is approved with the keyboard, after the panel was closed and opened again', async ({
  browserWith: browser,
  account,
  model,
  server,
  site,
}) => {
  const question = `合計はいくらですか ${crypto.randomUUID()}`
  const { panel: first, page, threadId } = await ask(browser, account, model, server, site, question)
  await expect(card(first, waiting)).toBeVisible()
  await expect(first.getByRole('status').filter({ hasText: waiting })).toHaveCount(1)
  await first.close()

  const panel = await browser.press(page)
  const shown = card(panel, waiting)
  await expect(shown.getByText('1,200千円 + 2百万円', { exact: true })).toBeVisible()
  await expect(shown.getByRole('link')).toHaveAttribute('href', `${server.url}/chat/${threadId}`)
  await expect(shown.getByRole('button', { name: '拒否' })).toBeVisible()
  await expectReadable(panel)
  await shown.getByRole('button', { name: '承認' }).press('Enter')
  await finished(panel)
  const decided = card(panel, '計算：承認済み')
  await expect(decided).toBeFocused()
  await expect(decided.getByRole('button')).toHaveCount(0)
  const [, answer] = await account.messages(threadId)
  expect(answer).toMatchObject({
    content: '合計は320万円です。',
    tool_calls: [{ status: 'success', approval: { state: 'approved' } }],
  })
})

test('a call that is refused elsewhere shows the outcome, and why a later decision has no effect', async ({
  browserWith: browser,
  account,
  model,
  server,
  site,
}) => {
  const question = `合計を教えてください ${crypto.randomUUID()}`
  const { panel, threadId } = await ask(browser, account, model, server, site, question)
  // The refusal reaches the server just before the panel's approval.
  await browser.context.route('**/v1/tool-call/*/decision', async (route) => {
    if (route.request().method() === 'POST') {
      const { items } = (await (await account.call('GET', '/v1/tool-call?state=waiting')).json()) as {
        items: ToolApproval[]
      }
      const call = items.find(({ thread_id }) => thread_id === threadId)
      await account.call('POST', `/v1/tool-call/${call?.id}/decision`, {
        request_id: crypto.randomUUID(),
        approved: false,
        arguments_sha256: call?.arguments_sha256,
        reason: '金額が違います',
      })
    }
    await route.continue()
  })
  await card(panel, waiting).getByRole('button', { name: '承認' }).click()
  const decided = card(panel, '計算：拒否')
  await expect(decided).toContainText('金額が違います')
  await expect(decided.getByRole('alert')).toHaveText('この呼び出しは、すでに承認または拒否されています。')
  await expect(decided.getByRole('button')).toHaveCount(0)
  await finished(panel)
})

test('an answer that is stopped while the panel is closed needs no decision afterwards', async ({
  browserWith: browser,
  account,
  model,
  server,
  site,
}) => {
  const question = `合計を計算してください ${crypto.randomUUID()}`
  const { panel: first, page, threadId } = await ask(browser, account, model, server, site, question)
  await expect(card(first, waiting).getByRole('button', { name: '承認' })).toBeVisible()
  await first.close()
  const answer = (await account.messages(threadId)).at(-1)
  await account.call('POST', `/v1/message/${answer?.id}/stop`)
  const panel = await browser.press(page)
  const decided = card(panel, '計算：中止')
  await expect(decided).toBeVisible()
  await expect(decided.getByRole('button')).toHaveCount(0)
})
