import type { Locator, Page, Request } from '@playwright/test'
import { hold } from './support/hold'
import { expect, test } from './support/test'

const renderer = /\/assets\/Rendered-[^/]+\.js$/
const app = /\/assets\/app-[^/]+\.js$/
const answer = { text: '## 見出し\n\n- **太字**の項目\n- `コード`の項目' }

/** The page's requests from now on, in order: paths with queries, files without their hashes. */
function watchRequests(page: Page): string[] {
  const asked: string[] = []
  page.on('request', (request: Request) => {
    const { pathname, search } = new URL(request.url())
    asked.push(pathname.replace(/-[\w-]{8}\.(js|css)$/, '.$1') + search)
  })
  return asked
}

/** Returns a function that returns the total size of the page's scripts, compressed as they are sent. */
function watchScripts(page: Page): () => Promise<number> {
  const sizes: Promise<string | null>[] = []
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) sizes.push(response.headerValue('content-length'))
  })
  return async () => (await Promise.all(sizes)).reduce((sum, size) => sum + Number(size), 0)
}

/** Checks that a floating box is under its button, within the window. */
async function expectBeside(box: Locator, button: Locator): Promise<void> {
  await expect(box).toBeInViewport({ ratio: 0.99 })
  // The header may still be laid out while the two are measured.
  await expect(async () => {
    const [floating, at] = [await box.boundingBox(), await button.boundingBox()]
    if (floating === null || at === null) throw new Error('not shown')
    expect(Math.abs(floating.y - at.y - at.height)).toBeLessThan(12)
    expect(floating.x).toBeLessThan(at.x + at.width)
    expect(floating.x + floating.width).toBeGreaterThan(at.x)
  }).toPass()
}

test.describe('the first load', () => {
  test('is dark from its first paint if dark was chosen', async ({ account, page }) => {
    const { id } = await account.skill('汎用チャット')
    await page.addInitScript(() => localStorage.setItem('tsumugiTheme', 'dark'))
    const started = await hold(page, app)
    await page.goto(`/home/skill/${id}`, { waitUntil: 'commit' })
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
    const color = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    // Nothing is painted before the style sheets are loaded.
    await expect.poll(color).not.toBe('rgba(0, 0, 0, 0)')
    const first = await color()
    started.release()
    await expect(page.getByRole('textbox', { name: '質問' })).toBeFocused()
    expect(await color()).toBe(first)
    await page.evaluate(() => document.documentElement.setAttribute('data-theme', 'light'))
    // With reduced motion, the change is a very short transition.
    await expect.poll(color).not.toBe(first)
  })

  test('waits for the current user with everything else', async ({ account, page }) => {
    const { id } = await account.skill('汎用チャット')
    const me = await hold(page, /\/v1\/me$/)
    const asked = watchRequests(page)
    await page.goto(`/home/skill/${id}`, { waitUntil: 'commit' })
    // The app's other requests for a user, held back together with the user.
    await expect.poll(() => asked).toEqual(expect.arrayContaining(['/assets/home.js', '/v1/me']))
    await page.waitForLoadState('load')
    expect(asked.filter((path) => path.startsWith('/v1/'))).toEqual(['/v1/me'])
    me.release()
    await expect(page.getByRole('textbox', { name: '質問' })).toBeFocused()
    expect(asked.filter((path) => path === '/v1/me' || path === `/v1/skill/${id}`)).toEqual([
      '/v1/me',
      `/v1/skill/${id}`,
    ])
  })

  test('loads the style of formulas before the first answer has one', async ({
    page,
    chat,
    model,
    question,
  }) => {
    const asked = watchRequests(page)
    const formula = () => asked.filter((path) => /^\/assets\/(katex|math)\./.test(path))
    model.script(question, { text: 'はい。', tokens_per_second: -1 })
    await chat.open()
    expect(formula()).toEqual([])
    await chat.ask(question)
    await chat.finished()
    await expect.poll(formula).toEqual(['/assets/katex.css'])
    await expect(chat.answer.locator('.katex')).toHaveCount(0)
  })

  test.describe('of an administrator', () => {
    test.use({ who: 'admin' })

    test('requests little, and nothing twice', async ({
      account,
      chat,
      contexts,
      page,
      server,
      model,
      question,
    }) => {
      model.script(question, answer)
      await chat.open()
      await chat.ask(question)
      await chat.finished()
      const thread = await chat.threadId()
      const { id } = await account.skill('汎用チャット')
      const signedOut = await contexts.open(server.url, {})
      const user = ['/v1/me', '/assets/layout.js']
      const draft = { request_id: crypto.randomUUID(), name: '新製品の準備' }
      const created = await account.call('POST', '/v1/project', draft)
      const project = `/home/project/${((await created.json()) as { id: string }).id}`

      for (const { path, needs, from = page } of [
        { path: '/login', needs: ['/config.json'], from: signedOut },
        {
          path: '/home/skill',
          needs: [...user, '/v1/skill?offset=0&limit=100', '/v1/category?offset=0&limit=100'],
        },
        { path: `/home/skill/${id}`, needs: [...user, `/v1/skill/${id}`] },
        {
          path: `/home/skill/${id}/chat/${thread}`,
          needs: [...user, `/v1/thread/${thread}`, `/v1/message?thread_id=${thread}&offset=0&limit=20`],
        },
        { path: `/chat/${thread}`, needs: [...user, `/v1/thread/${thread}`] },
        { path: '/home/skill/library', needs: user },
        { path: '/home/skill/new', needs: user },
        { path: `${project}/chat`, needs: user },
        { path: `${project}/setting`, needs: user },
        { path: '/home/data-source', needs: user },
        { path: '/setting/change-password', needs: user },
        { path: '/admin/organization/member', needs: [...user, '/v1/user?offset=0&limit=20'] },
        { path: '/admin/contract', needs: [...user, '/v1/contract'] },
      ]) {
        const tab = await from.context().newPage()
        const asked = watchRequests(tab)
        const scripts = watchScripts(tab)
        const rendering = /^\/(chat|home)\/(?!project|.*new$)/.test(path)
          ? tab.waitForRequest(renderer)
          : undefined
        await tab.goto(path)
        await expect(tab.getByRole('heading', { level: 1 })).toBeVisible()
        await rendering // The last script. It is loaded when the browser is idle.
        await tab.waitForLoadState('networkidle')
        for (const one of needs) expect(asked.filter((request) => request === one)).toEqual([one])
        expect(asked.length, `${path}: ${asked.join(' ')}`).toBeLessThanOrEqual(25)
        const size = await scripts()
        expect(size, `${path}: bytes of scripts`).toBeLessThanOrEqual(300_000)
        expect(size).toBeGreaterThan(100_000)
        await tab.close()
      }

      const asked = watchRequests(page)
      for (const { name, title } of [
        { name: 'スキル', title: /さん/ },
        { name: 'ファイル', title: 'ファイル' },
        { name: '新しいチャット', title: /./ },
      ]) {
        asked.length = 0
        await page.getByRole('navigation', { name: 'メニュー' }).getByRole('link', { name }).click()
        await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
        await page.waitForLoadState('networkidle')
        expect(asked.length, `${name}: ${asked.join(' ')}`).toBeLessThanOrEqual(10)
      }
    })
  })

  test('does not delay the composer for the renderer; the first answer uses it', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, answer)
    await page.addInitScript(noteComposer)
    const drawing = await hold(page, renderer)
    const asked = page.waitForRequest(renderer)
    await chat.open()
    await expect(chat.composer).toBeFocused()
    // Before any question, the renderer is loaded after the composer.
    await asked
    await chat.ask(question)
    await chat.finished()
    drawing.release()
    await expect(chat.answer.getByRole('heading', { name: '見出し' })).toBeVisible()
    await expect(chat.answer.getByRole('listitem')).toHaveText(['太字の項目', 'コードの項目'])
    const [usable = 0, begun = 0] = await page.evaluate(() => [
      performance.getEntriesByName('composer')[0]?.startTime,
      performance.getEntriesByType('resource').find(({ name }) => name.includes('/Rendered-'))?.startTime,
    ])
    expect(usable).toBeGreaterThan(0)
    expect(begun).toBeGreaterThan(usable)
  })

  test('of a thread shows its messages rendered, never as source', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, answer)
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    await chat.threadId()

    const drawing = await hold(page, renderer)
    const asked = page.waitForRequest(renderer)
    await page.reload({ waitUntil: 'commit' })
    await asked
    await expect(page.getByText('読み込み中...')).toBeAttached()
    await expect(chat.turns).toHaveCount(0)
    drawing.release()
    await expect(chat.answer.getByRole('heading', { name: '見出し' })).toBeVisible()
    await expect(chat.answer).not.toContainText('##')
  })

  test('of a skill with a form shows the form with its name, without layout shifts', async ({
    account,
    page,
  }) => {
    const { id } = await account.skill('ビジネスメール作成')
    await page.addInitScript(noteHeading)
    await page.goto(`/home/skill/${id}`)
    await expect(page.getByRole('button', { name: '実行' })).toBeVisible()
    expect(await page.evaluate(() => performance.getEntriesByName('bare heading').length)).toBe(0)
  })

  test('loses no question if the renderer cannot be loaded, and shows the source of the answer', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, answer)
    let loads = 0
    page.on('load', () => loads++)
    const failed = page.waitForEvent('requestfailed', (request) => renderer.test(request.url()))
    await page.route(renderer, (route) => route.abort())
    await chat.open()
    await failed
    await chat.ask(question)
    await chat.finished()
    await expect(chat.answer).toContainText('## 見出し')
    expect(loads).toBe(1)
    await page.unroute(renderer)
    await page.reload()
    await expect(chat.answer.getByRole('heading', { name: '見出し' })).toBeVisible()
  })

  test('reports a part of the app that cannot be loaded, and continues once it can', async ({
    account,
    chat,
    page,
  }) => {
    const { id } = await account.skill('汎用チャット')
    const part = /\/assets\/home-[^/]+\.js$/
    await page.route(part, (route) => route.abort())
    await page.goto(`/home/skill/${id}`)
    await expect(page.getByRole('heading', { name: 'サーバーに接続できません' })).toBeVisible()
    await page.unroute(part)
    await page.getByRole('button', { name: '再読み込み' }).click()
    await expect(chat.composer).toBeFocused()
  })

  for (const reducedMotion of ['no-preference', 'reduce'] as const) {
    test(`has its menus, panels and tooltips next to their anchors (motion: ${reducedMotion})`, async ({
      account,
      page,
    }) => {
      const { id } = await account.skill('汎用チャット')
      await page.emulateMedia({ reducedMotion })
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto(`/home/skill/${id}`)
        const header = page.getByRole('banner')
        const tip = page.getByRole('tooltip', { includeHidden: true })
        const search = header.getByRole('button', { name: '検索' })
        await search.hover()
        await expectBeside(tip, search)
        await page.mouse.move(width / 2, 600)
        for (const [name, role] of [
          [/さんのメニュー$/, 'menu'],
          ['お気に入り', 'dialog'],
        ] as const) {
          const button = header.getByRole('button', { name })
          await button.click()
          await expectBeside(page.getByRole(role), button)
          await page.keyboard.press('Escape')
        }
      }
    })
  }

  test('has its menus, panels and tooltips: the first click, key or tap opens them during loading', async ({
    account,
    page,
  }) => {
    const { id } = await account.skill('汎用チャット')
    const header = page.getByRole('banner')
    const menu = header.getByRole('button', { name: /さんのメニュー$/ })
    const favorites = header.getByRole('button', { name: 'お気に入り' })
    const [later, tip] = [await hold(page, renderer), page.getByRole('tooltip', { includeHidden: true })]
    await page.goto(`/home/skill/${id}`)
    await menu.click()
    await expect(page.getByRole('menu')).toBeFocused()
    await page.keyboard.press('ArrowDown')
    await expect(page.getByRole('menuitem').first()).toBeFocused()
    await page.keyboard.press('Escape')
    await expect(menu).toBeFocused()
    await expect(page.getByRole('menu')).toHaveCount(0)

    await page.reload()
    await menu.focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('menuitem').first()).toBeFocused()
    await page.getByRole('menuitemradio', { name: 'ダーク' }).hover()
    await expect(page.getByRole('menuitemradio', { name: 'ダーク' })).toBeFocused()
    // The click that closes it also has its own effect.
    await favorites.click()
    await expect(page.getByRole('menu')).toHaveCount(0)
    const panel = page.getByRole('dialog', { name: 'お気に入り' })
    await expect(panel.getByRole('group')).toBeFocused()
    await favorites.click()
    await expect(panel).toHaveCount(0)

    await page.reload()
    await header.getByRole('button', { name: '検索', exact: true }).hover()
    await expect(tip).toHaveText(/^検索/)
    await menu.hover()
    await expect(tip).toHaveCount(0)
    later.release()
  })
})

/** Runs in the page: records when the composer appears. */
function noteComposer(): void {
  const observer = new MutationObserver(() => {
    if (document.querySelector('[data-composer]') === null) return
    observer.disconnect()
    performance.mark('composer')
  })
  observer.observe(document, { childList: true, subtree: true })
}

/** Runs in the page: records when the skill's name is shown without its form. */
function noteHeading(): void {
  new MutationObserver(() => {
    if (document.querySelector('main h1') !== null && document.querySelector('main form') === null) {
      performance.mark('bare heading')
    }
  }).observe(document, { childList: true, subtree: true })
}
